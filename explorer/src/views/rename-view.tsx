import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { saveView, viewsChanged, type View } from '../api/views'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { isChanged, SaveProblem } from './save-problem'

/** RenameView gives a View another name, for everyone. */
export function RenameView({ view, onClose }: { view: View; onClose: () => void }) {
  const client = useQueryClient()
  // The name that was there when the dialog opened, whatever is read meanwhile.
  const [before] = useState(view)
  const [name, setName] = useState(view.name)
  const changed = () => viewsChanged(client, view.workspace_id)
  const save = useMutation({
    mutationFn: (revision: { revision?: number }) => saveView(view.workspace_id, { id: view.id, name, ...revision }),
    onSuccess: (saved) => {
      void changed()
      const undo = () => void saveView(view.workspace_id, { id: view.id, name: before.name }).then(changed)
      if (saved.revision !== before.revision) notify(`It is called “${saved.name}” now`, undo)
      onClose()
    },
    onError: () => void changed(),
  })
  const conflict = isChanged(save.error)
  return (
    <Dialog title={`Rename “${before.name}”`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          save.mutate(conflict ? {} : { revision: before.revision })
        }}
      >
        <label className="field">
          <span>Name</span>
          <input
            type="text"
            autoFocus
            required
            maxLength={120}
            value={name}
            onFocus={(e) => e.target.select()}
            onChange={(e) => setName(e.target.value)}
          />
        </label>
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
