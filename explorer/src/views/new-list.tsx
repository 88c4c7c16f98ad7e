import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { books, type Book } from '../api/book'
import { newList, saveViewMutation } from '../api/views'
import { go } from '../address'
import { capital, nouns } from '../datasets'
import { Dialog } from '../ui/dialog'
import { NameField } from './name-field'
import { SaveProblem } from './save-problem'

/** NewList creates an empty Static View. */
export function NewList({ workspace, onClose }: { workspace: string; onClose: () => void }) {
  const [dataset, setDataset] = useState<Book>('projects')
  const [name, setName] = useState('')
  const create = useMutation(saveViewMutation(workspace))
  return (
    <Dialog title="New list" onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          create.mutate(newList(dataset, name), {
            onSuccess: (view) => {
              onClose()
              go(`/views/${view.id}`)
            },
          })
        }}
      >
        <NameField value={name} onChange={setName} />
        <label className="field">
          <span>Of</span>
          <select value={dataset} onChange={(e) => setDataset(e.target.value as Book)}>
            {books.map((b) => (
              <option key={b} value={b}>
                {capital(nouns[b].many)}
              </option>
            ))}
          </select>
        </label>
        <p className="quiet">
          A list has what somebody adds to it. For one that finds records by itself, search and choose “Save as View”.
        </p>
        {create.error && <SaveProblem error={create.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={create.isPending || !name.trim()}>
            Create
          </button>
        </div>
      </form>
    </Dialog>
  )
}
