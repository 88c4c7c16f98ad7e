import { useInfiniteQuery } from '@tanstack/react-query'
import { pageSize, rowsQuery, type Counts } from '../api/queries'
import { credits } from '../format'
import { Table } from '../table/table'
import { Notice } from '../ui/notice'
import { useSearch } from './context'
import { NoMatch } from './no-match'
import { Overview } from './overview'

interface Props {
  counts: Counts | undefined
  error: Error | null
  retry: () => void
}

/** Results shows the rows that were loaded, or else what the counts tell. */
export function Results({ counts, error, retry }: Props) {
  const { workspace, state, body } = useSearch()
  const query = useInfiniteQuery(rowsQuery(workspace.id, state.dataset, body, state.sort))
  const more = () => {
    if (!query.isFetching) void query.fetchNextPage()
  }
  const price = Math.min(pageSize, counts?.count ?? pageSize)

  const name = JSON.stringify([state.dataset, body, state.sort])
  if (query.data?.pages[0]?.ids.length === 0) return <NoMatch didYouMean={counts?.didYouMean} />
  // Another search begins at its top.
  if (query.data) return <Table key={name} name={name} count={counts?.count} />
  if (query.isFetching) return <GridSkeleton />
  if (query.error) return <Notice error={query.error} retry={more} />
  if (error && !counts) return <Notice error={error} retry={retry} />
  if (counts?.count === 0) {
    const address = state.dataset === 'contacts' && state.query.includes('@')
    return address ? <Address load={more} busy={query.isFetching} /> : <NoMatch didYouMean={counts?.didYouMean} />
  }
  return <Overview counts={counts} price={price} load={more} />
}

/** Address offers to search for an e-mail address, which counts do not do. */
function Address({ load, busy }: { load: () => void; busy: boolean }) {
  return (
    <div className="notice">
      <h2>E-mail addresses are not counted</h2>
      <p>Searching for one costs a credit for each person found, and nothing if there is none.</p>
      <button className="button primary" disabled={busy} onClick={load}>
        Search · up to {credits(pageSize)}
      </button>
    </div>
  )
}

function GridSkeleton() {
  return (
    <div className="grid-skeleton" role="status" aria-label="Loading rows">
      {Array.from({ length: 14 }, (_, i) => (
        <div key={i} className="skeleton line" style={{ width: `${92 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  )
}
