import './history.css'
import { useQuery } from '@tanstack/react-query'
import { historyLength, ownHistoryQuery, recordHistoryQuery } from '../api/history'
import { membersQuery, nameOf } from '../api/people'
import { listsQuery } from '../api/views'
import { books } from '../api/book'
import type { Dataset } from '../datasets'
import { formatMoment, formatNumber } from '../format'
import { useSearch } from '../search/context'
import { Notice } from '../ui/notice'
import { entriesOf } from './entries'

/** History says what changed of a record, and who in the workspace changed what about it. It is free. */
export default function History({ dataset, id }: { dataset: Dataset; id: string }) {
  const { workspace } = useSearch()
  const book = books.find((b) => b === dataset)
  const kept = book !== undefined
  const data = useQuery(recordHistoryQuery(workspace.id, dataset, id))
  const own = useQuery({ ...ownHistoryQuery(workspace.id, book ?? 'projects', id), enabled: kept })
  const members = useQuery({ ...membersQuery(workspace.id), enabled: kept })
  const lists = useQuery({ ...listsQuery(workspace.id, book ?? 'projects', id), enabled: kept })
  const failed = data.error ? data : own.error ? own : undefined
  const waits = data.isLoading || own.isLoading || members.isLoading || lists.isLoading
  if (waits && !failed) {
    return (
      <p className="quiet" role="status">
        Looking it up …
      </p>
    )
  }
  const entries = entriesOf(data.data?.changes ?? [], own.data?.changes ?? [], {
    users: new Map(members.data?.map((m) => [m.id, nameOf(m)])),
    lists: new Map(lists.data?.map((v) => [v.id, v.name])),
  })
  const more = data.data?.all === false || own.data?.all === false
  return (
    <>
      {failed?.error && <Notice error={failed.error} retry={() => void failed.refetch()} />}
      {entries.length > 0 && (
        <ul className="list timeline history">
          {entries.map((e, i) => (
            <li key={i} className={e.who ? 'ours' : undefined}>
              <time dateTime={e.at}>{formatMoment(new Date(e.at))}</time>
              <span>
                {e.who && <bdi className="who">{e.who}</bdi>} {e.what}
              </span>
            </li>
          ))}
        </ul>
      )}
      {entries.length === 0 && !failed && (
        <p className="quiet">Nothing has changed in the time for which changes are kept.</p>
      )}
      {more && <p className="quiet">Only the latest {formatNumber(historyLength)} changes of each kind are shown.</p>}
    </>
  )
}
