import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useId, useState } from 'react'
import { leftOf } from '../api/batch'
import type { Book } from '../api/book'
import {
  addRecords,
  newList,
  recordsChanged,
  removeAgain,
  saveView,
  viewDatasets,
  viewQuery,
  viewsQuery,
  type View,
} from '../api/views'
import { link } from '../address'
import { counted } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import { Dialog } from '../ui/dialog'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { BatchProgress } from './batch-progress'
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
  const [text, setText] = useState('')
  const query = useDeferredValue(text.trim())
  const lists = useInfiniteQuery(
    viewsQuery(workspace.id, {
      dataset: viewDatasets[dataset],
      view_type: 'static',
      ...(query ? { query } : {}),
    }),
  )
  const found = lists.data?.pages.flat() ?? []
  const [chosen, setChosen] = useState<View>()
  const [name, setName] = useState<string>()
  const batch = useBatch()
  const group = useId()
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
      recordsChanged(client, before)
      const [only] = outcomes
      if (outcomes.length !== 1 || only?.status !== 'ok') return
      const after = await client.fetchQuery({ ...viewQuery(workspace.id, list.id), staleTime: 0 })
      if (after.record_count === before.record_count) notify(`It was in “${list.name}” already`)
      else notify(`Added to “${list.name}”`, () => removeAgain(client, list, ids))
      onClose()
    },
  })
  const now = useQuery({ ...viewQuery(workspace.id, chosen?.id ?? ''), enabled: batch.total > 0 && !batch.running })
  const what = counted(new Set(ids).size, dataset)

  if (batch.total > 0 && chosen) {
    const left = leftOf(ids, batch.outcomes)
    return (
      <Dialog title={`Add to “${chosen.name}”`} onClose={batch.running ? undefined : onClose}>
        <BatchProgress workspace={workspace.id} dataset={dataset} batch={batch} done="are in the list now" />
        {!batch.running && now.data && <p>The list has {counted(now.data.record_count ?? 0, dataset)}.</p>}
        <div className="actions">
          {batch.running ? (
            <button className="button" onClick={batch.stop}>
              Stop
            </button>
          ) : (
            <>
              {left.length > 0 && (
                <button
                  className="button"
                  onClick={() => {
                    const run = batch.start(left, (some) => addRecords(workspace.id, chosen.id, some))
                    void run.then(() => recordsChanged(client, chosen))
                  }}
                >
                  Try {formatNumber(left.length)} again
                </button>
              )}
              <a className="button" {...link(addressOf(chosen))}>
                Open the list
              </a>
              <button className="button primary" autoFocus onClick={onClose}>
                Done
              </button>
            </>
          )}
        </div>
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
        {(found.length > 7 || text) && (
          <input
            className="within"
            type="text"
            placeholder="Search lists"
            aria-label="Search lists"
            value={text}
            onChange={(e) => setText(e.target.value)}
          />
        )}
        {lists.error && <Notice error={lists.error} retry={() => void lists.refetch()} />}
        {lists.isPending && !lists.error && <div className="skeleton line" style={{ width: '60%' }} />}
        {lists.data && (
          <fieldset className="choice-list scrolls">
            <legend className="sr">Lists</legend>
            {found.map((v) => (
              <label key={v.id}>
                <input
                  type="radio"
                  name={group}
                  checked={name === undefined && chosen?.id === v.id}
                  onChange={() => {
                    setChosen(v)
                    setName(undefined)
                  }}
                />
                <bdi>{v.name}</bdi>
                <span className="count">{formatNumber(v.record_count ?? 0)}</span>
              </label>
            ))}
            {found.length === 0 && text && <p className="quiet">No list is called so.</p>}
            <label>
              <input type="radio" name={group} checked={name !== undefined} onChange={() => setName('')} />
              <span>A new list</span>
            </label>
          </fieldset>
        )}
        {lists.hasNextPage && (
          <button type="button" className="link" onClick={() => void lists.fetchNextPage()}>
            Show more lists
          </button>
        )}
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
