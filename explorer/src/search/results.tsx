import { lazy, Suspense, useMemo } from 'react'
import { pageSize, type Counts } from '../api/queries'
import { credits, formatNumber } from '../format'
import { tableOf } from '../table/fields'
import { Notice, retryLabel } from '../ui/notice'
import { useFocusAfter } from '../ui/use-focus-after'
import { useSearch } from './context'
import { NoMatch } from './no-match'
import { Overview } from './overview'
import { EmptyPlace } from './empty-place'
import { PreviousRowsBar, Table } from './preload'
import { isEmpty } from './state'
import { usePreviousRows, useRows } from './use-rows'

// Loaded when they are first shown.
const MapLook = lazy(() => import('../map/map-look'))
const ChartLook = lazy(() => import('../charts/chart-look'))
const PivotLook = lazy(() => import('../pivot/pivot-look'))

interface Props {
  counts: Counts | undefined
  /** The counts are those of the previous search. */
  counting: boolean
  error: Error | null
  retry: () => void
}

/** Results shows the loaded rows, or else the counts. */
export function Results({ counts, counting, error, retry }: Props) {
  const { state } = useSearch()
  const { query } = useRows()
  const previous = usePreviousRows(query.data)
  const more = () => {
    if (!query.isFetching) void query.fetchNextPage({ cancelRefetch: false })
  }
  // Pages stay packed; only the map needs all their rows at once.
  const showsPoints = state.look === 'map' && state.dataset === 'projects'
  const rows = useMemo(
    () => (showsPoints ? (query.data?.pages.flatMap((p) => p.rows) ?? []) : []),
    [showsPoints, query.data],
  )
  // Counts do not search the text in e-mail addresses, so rows may be more.
  const total = Math.max(counts?.count ?? 0, rows.length)
  const price = Math.min(pageSize, counts ? counts.count - rows.length || pageSize : pageSize)

  const focusRow = useFocusAfter(
    () => document.querySelector<HTMLElement>('[role=row][tabindex="0"]'),
    query.data?.pages.length ?? 0,
  )

  if (state.look && (counts ? counts.count > 0 : !error)) {
    return (
      <Suspense fallback={<div className="look" role="status" aria-label="Loading" />}>
        {state.look === 'chart' ? (
          <ChartLook counts={counts} />
        ) : state.look === 'pivot' ? (
          <PivotLook counts={counts} />
        ) : (
          <MapLook rows={rows} />
        )}
        {showsPoints && (
          <footer className="foot">
            <span>
              {rows.length === 0 ? (
                'Circles count projects, points are loaded rows'
              ) : (
                <>
                  <b>{formatNumber(rows.length)}</b> of {formatNumber(total)} loaded, shown as points
                </>
              )}
            </span>
            {query.error ? (
              <span className="problem" role="alert">
                The rows did not come: {query.error.message}.
              </span>
            ) : null}
            {(query.hasNextPage || !query.data) && (
              <button className="button" disabled={query.isFetching || counting || !counts} onClick={more}>
                {query.error
                  ? retryLabel(price)
                  : `Show ${formatNumber(price)} ${query.data ? 'more' : price === 1 ? 'row' : 'rows'} · ${credits(price)}`}
              </button>
            )}
          </footer>
        )}
      </Suspense>
    )
  }
  const load = () => {
    focusRow()
    more()
  }
  if (query.data?.pages[0]?.ids.length === 0) return <NoMatch nothing={counts} />
  const showsPrevious = previous && previous.rows.length > 0 && counts && (counts.count > 0 || counting)
  if (query.data || showsPrevious) {
    const count = counts?.atMost || counting ? undefined : counts?.count
    return (
      <Suspense fallback={<GridSkeleton />}>
        {showsPrevious && query.error && <Notice error={query.error} retry={more} price={price} />}
        {showsPrevious && !query.error && (
          <PreviousRowsBar previous={previous} price={price} busy={counting || query.isFetching} load={load} />
        )}
        {/* Another place has a new table. */}
        <Table key={tableOf(state)} count={count} previous={showsPrevious ? previous : undefined} />
      </Suspense>
    )
  }
  if (query.isFetching) return <GridSkeleton />
  if (query.error) return <Notice error={query.error} retry={more} price={price} />
  if (error && !counts) return <Notice error={error} retry={retry} />
  if (counts?.atMost && counts.count > 0) return <EmailOffer load={more} busy={query.isFetching} />
  if (counts?.count === 0 && state.source && isEmpty(state)) return <EmptyPlace />
  if (counts?.count === 0) {
    const address = state.dataset === 'contacts' && state.query.includes('@')
    return address ? <EmailOffer load={more} busy={query.isFetching} /> : <NoMatch nothing={counts} />
  }
  return <Overview counts={counts} counting={counting} price={price} load={load} />
}

/** EmailOffer offers a search for an e-mail address, which counts do not include. */
function EmailOffer({ load, busy }: { load: () => void; busy: boolean }) {
  return (
    <div className="notice">
      <h2>E-mail addresses are not counted</h2>
      <p>Searching for one costs a credit for each row found, and nothing if there is none.</p>
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
