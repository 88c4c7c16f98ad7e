import { useMutation } from '@tanstack/react-query'
import { datasetOf, deleteViewMutation, type View } from '../api/views'
import { go } from '../address'
import { counted } from '../datasets'
import { Dialog } from '../ui/dialog'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'

/** DeleteView shows the effects, and deletes. A missing View counts as deleted. */
export function DeleteView({ view, onClose }: { view: View; onClose: () => void }) {
  const remove = useMutation(deleteViewMutation(view.workspace_id))
  const deleted = () => {
    notify(`“${view.name}” is deleted`)
    onClose()
    go('/views')
  }
  const records = view.record_count
  return (
    <Dialog title={`Delete “${view.name}”?`} onClose={onClose}>
      <p>
        {records === undefined
          ? 'Its filters are lost'
          : `Which ${counted(records, datasetOf(view))} were in the list is lost`}
        , for everyone, and so is the star of all who have one on it. Links to it no longer work.
      </p>
      <p>Records are not deleted: they stay in the dataset, with your status, tags and notes.</p>
      {remove.error && <Notice error={remove.error} refused="It is not deleted" />}
      <div className="actions">
        <button className="button" autoFocus onClick={onClose}>
          Cancel
        </button>
        <button
          className="button primary danger"
          disabled={remove.isPending}
          onClick={() => remove.mutate(view.id, { onSuccess: deleted })}
        >
          Delete the View
        </button>
      </div>
    </Dialog>
  )
}
