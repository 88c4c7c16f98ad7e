import { useInfiniteQuery } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { pageSize, rowsQuery } from '../api/queries'
import { credits, formatNumber } from '../format'
import { Notice } from '../ui/notice'
import { useSearch } from './context'
import { Grid } from './grid'
import { NoMatch } from './no-match'
import { Overview } from './overview'

interface Props {
  counts: Schemas['FacetCounts'] | undefined
  error: Error | null
  retry: () => void
}

/** Results shows the rows that were loaded, or else what the counts tell. */
export function Results({ counts, error, retry }: Props) {
  const { workspace, state, body } = useSearch()
  const query = useInfiniteQuery(rowsQuery(workspace.id, state.dataset, body, state.sort))
  const rows = query.data?.pages.flatMap((p) => p.rows) ?? []
  const more = () => {
    if (!query.isFetching) void query.fetchNextPage()
  }
  const left = counts ? Math.max(0, counts.count - rows.length) : pageSize
  const price = Math.min(pageSize, left)

  if (query.data && rows.length === 0) return <NoMatch />
  if (query.data) {
    return (
      <>
        <Grid
          // Another search begins at its top.
          key={JSON.stringify([state.dataset, body, state.sort])}
          rows={rows}
          total={counts?.count ?? rows.length}
          loading={query.isFetchingNextPage}
          onEnd={query.hasNextPage && !query.isFetchNextPageError ? more : undefined}
        />
        <footer className="foot">
          <span>
            <b>{formatNumber(rows.length)}</b> of {counts ? formatNumber(counts.count) : '…'} loaded
          </span>
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
  if (counts?.count === 0) return <NoMatch />
  return <Overview counts={counts} price={price} load={more} />
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
