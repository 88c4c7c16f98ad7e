import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { pageSize, rowsQuery, type Counts } from '../api/queries'
import { credits, formatNumber } from '../format'
import { Notice } from '../ui/notice'
import { useSearch } from './context'
import { Grid } from './grid'
import { NoMatch } from './no-match'
import { Overview } from './overview'
import { EmptyPlace } from './empty-place'
import { RowsMenu } from './rows-menu'
import { isEmpty } from './state'

interface Props {
  counts: Counts | undefined
  error: Error | null
  retry: () => void
}

/** Results shows the rows that were loaded, or else what the counts tell. */
export function Results({ counts, error, retry }: Props) {
  const { workspace, state, body } = useSearch()
  const query = useInfiniteQuery(rowsQuery(workspace.id, state.dataset, body, state.sort))
  const rows = useMemo(() => query.data?.pages.flatMap((p) => p.rows) ?? [], [query.data])
  // Counts do not search e-mail addresses, so rows may be more.
  const total = Math.max(counts?.count ?? 0, rows.length)
  const more = () => {
    if (!query.isFetching) void query.fetchNextPage()
  }
  const left = counts ? total - rows.length || pageSize : pageSize
  const price = Math.min(pageSize, left)

  const name = JSON.stringify([state.dataset, body, state.sort])
  if (query.data && rows.length === 0) return <NoMatch didYouMean={counts?.didYouMean} />
  if (query.data) {
    return (
      <>
        <Grid
          // Another search begins at its top.
          key={name}
          name={name}
          rows={rows}
          total={total}
          loading={query.isFetchingNextPage}
          onEnd={query.hasNextPage && !query.isFetchNextPageError ? more : undefined}
        />
        <footer className="foot">
          <span>
            <b>{formatNumber(rows.length)}</b> of {counts ? formatNumber(total) : '…'} loaded
          </span>
          <RowsMenu rows={rows} />
          {query.error ? (
            <span className="problem" role="alert">
              The next rows did not come: {query.error.message}.
            </span>
          ) : null}
          {query.hasNextPage && (
            <button className="button" disabled={query.isFetching} onClick={more}>
              {query.error ? 'Try again' : `Show ${formatNumber(price)} more · ${credits(price)}`}
            </button>
          )}
        </footer>
      </>
    )
  }
  if (query.isFetching) return <GridSkeleton />
  if (query.error) return <Notice error={query.error} retry={more} />
  if (error && !counts) return <Notice error={error} retry={retry} />
  if (counts?.count === 0 && state.source && isEmpty(state)) return <EmptyPlace />
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
