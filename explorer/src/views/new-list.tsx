import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { books, type Book } from '../api/book'
import { createList, viewsChanged } from '../api/views'
import { go } from '../address'
import { capital, nouns } from '../datasets'
import { Dialog } from '../ui/dialog'
import { SaveProblem } from './save-problem'

/** NewList makes an empty Static View. */
export function NewList({ workspace, onClose }: { workspace: string; onClose: () => void }) {
  const client = useQueryClient()
  const [dataset, setDataset] = useState<Book>('projects')
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => createList(workspace, dataset, name),
    onSuccess: (view) => {
      void viewsChanged(client, workspace)
      onClose()
      go(`/views/${view.id}`)
    },
  })
  return (
    <Dialog title="New list" onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          create.mutate()
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
            onChange={(e) => setName(e.target.value)}
          />
        </label>
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
