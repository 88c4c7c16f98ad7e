import '../charts/charts.css'
import './pivot.css'
import { useQuery } from '@tanstack/react-query'
import { ChartColumn, Download } from 'lucide-react'
import { useMemo, useState } from 'react'
import { pivotQuery, type Counts } from '../api/queries'
import { AddToBoard } from '../boards/add-to-board'
import { tileOf } from '../boards/tile'
import { capital, counted, labelOf, nouns } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { Notice } from '../ui/notice'
import { saveFile } from '../ui/save-file'
import { axesOf, byOf, columnsOf, measureName, measureOf, rowsOf, type Axis } from './axes'
import { csvOf } from './csv'
import { PivotChart } from './pivot-chart'
import { PivotChoice } from './pivot-choice'
import { PivotTable } from './pivot-table'

const nameOf = ({ key, interval }: Axis) =>
  interval ? `${interval} of ${labelOf(key).toLowerCase()}` : labelOf(key).toLowerCase()

/** PivotLook groups the search by one field or two. It only counts, which is free. */
export default function PivotLook({ counts }: { counts: Counts | undefined }) {
  const search = useSearch()
  const { workspace, state, body, kindOf, valueLabel } = search
  const { dataset } = state
  const [asChart, setAsChart] = useState(false)
  const all = useMemo(() => axesOf(state, kindOf), [state, kindOf])
  const rows = rowsOf(all, state)
  const columns = columnsOf(all, state)
  const measure = measureOf(state)
  const query = useQuery(
    pivotQuery(workspace.id, dataset, body, byOf(rows, 'rows'), columns && byOf(columns, 'columns'), measure),
  )
  const pivot = query.data
  const title = `${measure ? `${measureName(measure)} of ${nouns[dataset].many}` : capital(nouns[dataset].many)} by ${nameOf(rows)}${columns ? ` and ${nameOf(columns)}` : ''}`
  const some = pivot?.rows && pivot.rows.groups.length > 0
  return (
    <div className="look chart-look">
      <div className="look-bar">
        <PivotChoice fields={all} rows={rows} columns={columns} measure={measure} />
        {some && (
          <div className="look-actions">
            <button className="button" aria-pressed={asChart} onClick={() => setAsChart(!asChart)}>
              <ChartColumn size={14} aria-hidden /> Bars
            </button>
            <AddToBoard
              workspace={workspace.id}
              tile={tileOf(title, dataset, body, {
                kind: 'pivot',
                rows: byOf(rows, 'rows'),
                ...(columns ? { columns: byOf(columns, 'columns') } : {}),
                ...(measure ? { measure } : {}),
              })}
            />
            <button
              className="button"
              onClick={() =>
                saveFile(
                  `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`,
                  new Blob([csvOf(pivot, rows, columns, measure, valueLabel)], { type: 'text/csv' }),
                )
              }
            >
              <Download size={14} aria-hidden /> CSV
            </button>
          </div>
        )}
      </div>
      <section className="figure pivot-figure" aria-label={title}>
        <h2>{title}</h2>
        {query.error ? (
          <Notice error={query.error} retry={() => void query.refetch()} />
        ) : !pivot?.rows ? (
          <div className="skeleton chart-skeleton" role="status" aria-label="Counting" />
        ) : !some ? (
          <p className="quiet">
            {counts?.count === 0
              ? 'Nothing matches this search.'
              : `There is nothing to group of ${counted(counts?.count ?? 0, dataset)}.`}
          </p>
        ) : (
          <>
            {asChart && <PivotChart pivot={pivot} rows={rows} columns={columns} measure={measure} title={title} />}
            <PivotTable
              pivot={pivot}
              rows={rows}
              columns={columns}
              measure={measure}
              title={title}
              shown={!asChart}
              addressOf={format}
            />
          </>
        )}
        <p className="quiet notes">
          {some && !asChart && 'Click a number to narrow the search to it. '}
          {measure && 'A dash: fewer than 3 known values. '}
          {measure?.field === 'cost' && 'Costs are in the currency of their source. '}
          {pivot && some && `${formatNumber(pivot.count)} in all.`}
        </p>
      </section>
    </div>
  )
}
