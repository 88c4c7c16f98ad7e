import './timeline.css'
import { useQuery } from '@tanstack/react-query'
import { link } from '../address'
import { historyLength, ownHistoryQuery, recordHistoryQuery } from '../api/history'
import { membersQuery, nameOf } from '../api/people'
import { listsQuery } from '../api/views'
import { books } from '../api/book'
import { counted, type Dataset, type Records } from '../datasets'
import { credits, formatDay, formatMoment, formatNumber } from '../format'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { Notice } from '../ui/notice'
import { entriesOf, type Entry } from './entries'
import { offerOf, signalsOf, type FilterGroup } from './relations'
import { useGroups, useRelatedRows } from './use-related'

interface Props {
  dataset: Dataset
  id: string
}

/**
 * Timeline shows the events of a record, its changes in the data, and the changes by people of
 * the workspace. Changes are free.
 */
export default function Timeline({ dataset, id }: Props) {
  const { groups, ...reading } = useGroups(dataset, id, signalsOf(dataset))
  const signals = groups.find((g): g is FilterGroup => 'key' in g)
  if (!signals) return <Entries dataset={dataset} id={id} signals={[]} />
  return <WithSignals dataset={dataset} id={id} group={signals} {...reading} />
}

interface WithSignalsProps extends Props {
  group: FilterGroup
  load: () => void
  busy: boolean
  error: Error | null
}

function WithSignals({ dataset, id, group, load, busy, error }: WithSignalsProps) {
  const { query, records, next } = useRelatedRows(group, id)
  const { count } = group
  const missing = records ? next : Math.min(1, count ?? 0)
  const failed = records ? query.error : error
  const read = records ? () => void query.fetchNextPage({ cancelRefetch: false }) : load
  return (
    <>
      {failed ? (
        <Notice error={failed} retry={read} price={missing} />
      ) : missing > 0 ? (
        <p className="unread-signals">
          <span>
            {records
              ? `${formatNumber(records.length)} of ${counted(count ?? 0, 'signals')} are here.`
              : 'Signals are not here yet.'}
          </span>{' '}
          <button className="button" disabled={busy || query.isFetching} onClick={read}>
            {records ? `Read ${formatNumber(next)} by a search · ${credits(next)}` : offerOf([group])}
          </button>
        </p>
      ) : null}
      <Entries dataset={dataset} id={id} signals={(records ?? []) as Records['signals'][]} />
    </>
  )
}

function Entries({ dataset, id, signals }: Props & { signals: Records['signals'][] }) {
  const { workspace } = useSearch()
  const book = books.find((b) => b === dataset)
  const bookable = book !== undefined
  const data = useQuery(recordHistoryQuery(workspace.id, dataset, id))
  const own = useQuery({ ...ownHistoryQuery(workspace.id, book ?? 'projects', id), enabled: bookable })
  const members = useQuery({ ...membersQuery(workspace.id), enabled: bookable })
  const lists = useQuery({ ...listsQuery(workspace.id, book ?? 'projects', id), enabled: bookable })
  const failed = data.error ? data : own.error ? own : undefined
  const waits = data.isLoading || own.isLoading || members.isLoading || lists.isLoading
  if (waits && !failed) {
    return (
      <p className="quiet" role="status">
        Looking it up …
      </p>
    )
  }
  const entries = entriesOf(signals, data.data?.changes ?? [], own.data?.changes ?? [], {
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
            <li key={i} className={e.signal ? undefined : e.who ? 'own-change' : 'data-change'}>
              <EntryText entry={e} />
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

function EntryText({ entry: { at, who, what, signal } }: { entry: Entry }) {
  if (signal !== undefined) {
    return (
      <>
        {/* Signals happen on a day. */}
        <time dateTime={at}>{formatDay(at)}</time>
        <a {...link(format({ dataset: 'signals', record: signal, query: '', conditions: {} }))}>{what}</a>
      </>
    )
  }
  return (
    <>
      <time dateTime={at}>{formatMoment(new Date(at))}</time>
      <span>
        {who && <bdi className="who">{who}</bdi>} {what}
      </span>
    </>
  )
}
