import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { saveViewMutation, type View } from '../api/views'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { NameField } from './name-field'
import { isChanged, SaveProblem } from './save-problem'

/** RenameView gives a View another name, for everyone. */
export function RenameView({ view, onClose }: { view: View; onClose: () => void }) {
  // The name when the dialog opened, whatever is read meanwhile.
  const [before] = useState(view)
  const [name, setName] = useState(view.name)
  const save = useMutation(saveViewMutation(view.workspace_id))
  const conflict = isChanged(save.error)
  return (
    <Dialog title={`Rename “${before.name}”`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          const change = { id: view.id, name, ...(conflict ? {} : { revision: before.revision }) }
          save.mutate(change, {
            onSuccess: ({ name, revision }) => {
              const undo = () => save.mutateAsync({ id: view.id, name: before.name, revision })
              if (revision !== before.revision) notify(`It is called “${name}” now`, undo)
              onClose()
            },
          })
        }}
      >
        <NameField value={name} onChange={setName} onFocus={(e) => e.target.select()} />
        {conflict && view.name !== before.name && (
          <p>
            It is called <b>{view.name}</b> now.
          </p>
        )}
        {save.error && <SaveProblem error={save.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={save.isPending || !name.trim()}>
            {conflict ? 'Save mine' : 'Rename'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
