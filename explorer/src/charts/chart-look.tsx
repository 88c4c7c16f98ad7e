import './charts.css'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { Counts } from '../api/queries'
import { AddToBoard } from '../boards/add-to-board'
import { tileOf } from '../boards/tile'
import { counted, labelOf } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import { namedBy, nameQuery } from '../search/names'
import { withCondition, type SearchState } from '../search/state'
import { Notice } from '../ui/notice'
import { ChartChoice } from './chart-choice'
import { ChartDownload } from './chart-download'
import { ChartTable } from './chart-table'
import { finerInterval, measureLabel, titleOf, type Dimension, type Interval } from './dimensions'
import { PlotChart } from './plot-chart'
import type { Point } from './points'
import { useChart } from './use-chart'

/** ChartLook draws the search by one field. It only counts, which is free. */
export default function ChartLook({ counts }: { counts: Counts | undefined }) {
  const { workspace, state, body, change, kindOf } = useSearch()
  const { dataset } = state
  const client = useQueryClient()
  const drawing = useRef<SVGSVGElement>(null)
  const [asTable, setAsTable] = useState(false)
  const { dimension, measure, request, facet, points, error, retry } = useChart()
  const { key } = dimension
  const title = titleOf(dataset, dimension, measure)
  const name = measureLabel(dataset, measure)
  const choose = (point: Point) => {
    const named = kindOf(dataset, key) === 'id' ? namedBy(key) : undefined
    if (named && point.condition?.kind === 'values')
      for (const id of point.condition.values)
        client.setQueryData(nameQuery(workspace.id, named, id).queryKey, point.label)
    change(drillDown(state, dimension, point))
  }
  const unknown = facet?.unknown ?? 0
  return (
    <div className="look chart-look">
      <div className="look-bar">
        <ChartChoice dimension={dimension} measure={measure} />
        {points && points.length > 0 && (
          <div className="look-actions">
            <button className="button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
              Numbers
            </button>
            <AddToBoard
              workspace={workspace.id}
              tile={tileOf(title, dataset, body, { kind: 'chart', facet: request })}
            />
            <ChartDownload
              title={title}
              points={points}
              dimension={dimension}
              measure={measure}
              drawing={asTable ? undefined : drawing}
            />
          </div>
        )}
      </div>
      <section className="figure" aria-label={title}>
        <h2>{title}</h2>
        {error ? (
          <Failed
            error={error}
            interval={dimension.interval}
            byYear={() => change({ ...state, by: `${key}:year` })}
            retry={retry}
          />
        ) : !points ? (
          <div className="skeleton chart-skeleton" role="status" aria-label="Counting" />
        ) : points.every((p) => p.value === null || p.count === 0) ? (
          <p className="quiet">
            {counts?.count === 0
              ? 'Nothing matches this search.'
              : `${labelOf(key)} is unknown of all ${counted(counts?.count ?? 0, dataset)}.`}
          </p>
        ) : (
          <>
            {!asTable && (
              <PlotChart points={points} measure={name} label={title} onChoose={choose} drawingRef={drawing} />
            )}
            <ChartTable
              title={title}
              dimension={dimension}
              measure={measure && name}
              points={points}
              shown={asTable}
              choose={choose}
            />
          </>
        )}
        <p className="quiet notes">
          {points && points.length > 0 && 'Click a bar to narrow the search to it. '}
          {(facet?.other ?? 0) > 0 && `Other values: ${formatNumber(facet?.other ?? 0)}. `}
          {measure?.field === 'cost' && 'Costs are in the currency of their source. '}
          {unknown > 0 && (
            <>
              Without a known value:{' '}
              <button
                className="link"
                onClick={() => change(withCondition(state, key, { kind: 'known', known: false }))}
              >
                {counted(unknown, dataset)}
              </button>
            </>
          )}
        </p>
      </section>
    </div>
  )
}

/** Failed offers years where the bars are too many. */
function Failed({ error, interval, byYear, retry }: FailedProps) {
  // A chart has at most 1,000 bars.
  if (interval === undefined || interval === 'year' || !/1000/.test(error.message))
    return <Notice error={error} retry={retry} />
  return (
    <p className="quiet">
      The time is too long for a bar each {interval}.{' '}
      <button className="link" onClick={byYear}>
        Show years
      </button>
    </p>
  )
}

interface FailedProps {
  error: Error
  interval: Interval | undefined
  byYear: () => void
  retry: () => void
}

/** drillDown is the search of one bar; a bar of a time uses a finer interval. */
function drillDown(state: SearchState, { key, interval }: Dimension, { condition, out }: Point) {
  const before = state.conditions[key]
  const deselect = before?.kind === 'values' && condition?.kind === 'values' && !out
  const next: SearchState = withCondition(state, key, deselect ? undefined : condition)
  return interval ? { ...next, by: `${key}:${finerInterval(interval)}` } : next
}
