import type { Schemas } from '../api/client'
import type { PivotMeasure } from '../api/queries'
import { cellOf, row } from '../csv'
import { labelOf } from '../datasets'
import { groupLabel, measureName, type Axis } from './axes'

/** csvOf is a pivot as CSV, a line for each cell. */
export function csvOf(
  pivot: Schemas['Pivot'],
  rows: Axis,
  columns: Axis | undefined,
  measure: PivotMeasure | undefined,
  valueLabel: (key: string, value: string) => string,
): string {
  if (!pivot.rows) return ''
  const value = (c: { count: number; measure?: number | null }) => (measure ? [c.count, c.measure ?? null] : [c.count])
  const head = [
    labelOf(rows.key),
    ...(columns ? [labelOf(columns.key)] : []),
    'Count',
    ...(measure ? [measureName(measure)] : []),
  ]
  const lines = pivot.rows.groups.flatMap((r, i) => {
    const label = groupLabel(rows, r, valueLabel)
    if (!columns || !pivot.columns) return [[label, ...value(r)]]
    return pivot.columns.groups.map((c, j) => [
      label,
      groupLabel(columns, c, valueLabel),
      ...value(pivot.cells?.[i]?.[j] ?? { count: 0 }),
    ])
  })
  return [head, ...lines].map((cells) => row(cells.map(cellOf))).join('')
}
