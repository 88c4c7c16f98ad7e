import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Book } from '../api/book'
import { addRecords, newList, updateViewRecords, undoAddRecords, saveView, viewQuery, type View } from '../api/views'
import { link } from '../address'
import { counted } from '../datasets'
import { useSearch } from '../search/context'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { BatchActions } from './batch-actions'
import { BatchProgress } from './batch-progress'
import { ListChoice } from './list-choice'
import { NameField } from './name-field'
import { SaveProblem } from './save-problem'
import { useBatch } from './use-batch'
import { addressOf } from './view-row'

interface Props {
  dataset: Book
  ids: string[]
  onClose: () => void
}

/** AddToList adds records to an existing Static View or to a new one. */
export default function AddToList({ dataset, ids, onClose }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const [chosen, setChosen] = useState<View>()
  const [name, setName] = useState<string>()
  const batch = useBatch()
  const add = useMutation({
    mutationFn: async () => {
      const created = name === undefined ? undefined : await saveView(workspace.id, newList(dataset, name))
      // A created View is chosen: a retry does not create another.
      if (created) {
        setChosen(created)
        setName(undefined)
      }
      const list = created ?? chosen
      if (!list) return
      const before = await client.fetchQuery({ ...viewQuery(workspace.id, list.id), staleTime: 0 })
      const outcomes = await batch.start(ids, (some) => addRecords(workspace.id, list.id, some))
      updateViewRecords(client, before)
      const [only] = outcomes
      if (outcomes.length !== 1 || only?.status !== 'ok') return
      const after = await client.fetchQuery({ ...viewQuery(workspace.id, list.id), staleTime: 0 })
      if (after.record_count === before.record_count) notify(`It was in “${list.name}” already`)
      else notify(`Added to “${list.name}”`, () => undoAddRecords(client, list, ids))
      onClose()
    },
  })
  const now = useQuery({ ...viewQuery(workspace.id, chosen?.id ?? ''), enabled: batch.total > 0 && !batch.running })
  const what = counted(new Set(ids).size, dataset)

  if (batch.total > 0 && chosen) {
    return (
      <Dialog title={`Add to “${chosen.name}”`} onClose={batch.running ? undefined : onClose}>
        <BatchProgress workspace={workspace.id} dataset={dataset} batch={batch} done="are in the list now" />
        {!batch.running && now.data && <p>The list has {counted(now.data.record_count ?? 0, dataset)}.</p>}
        <BatchActions
          batch={batch}
          ids={ids}
          retry={(left) => {
            const run = batch.start(left, (some) => addRecords(workspace.id, chosen.id, some))
            void run.then(() => updateViewRecords(client, chosen))
          }}
          done={onClose}
        >
          <a className="button" {...link(addressOf(chosen))}>
            Open the list
          </a>
        </BatchActions>
      </Dialog>
    )
  }
  return (
    <Dialog title={`Add ${what} to a list`} onClose={add.isPending ? undefined : onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          add.mutate()
        }}
      >
        <ListChoice
          dataset={dataset}
          chosen={name === undefined ? chosen : 'new'}
          choose={(list) => {
            if (list !== 'new') setChosen(list)
            setName(list === 'new' ? '' : undefined)
          }}
        />
        {name !== undefined && <NameField value={name} onChange={setName} />}
        {add.error && <SaveProblem error={add.error} />}
        <div className="actions">
          <button type="button" className="button" disabled={add.isPending} onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={add.isPending || (!chosen && !name?.trim())}>
            Add {what}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
