import { useEffect, useRef } from 'react'
import { link } from '../address'
import type { Schemas } from '../api/client'
import type { PivotMeasure } from '../api/queries'
import { labelOf } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import type { SearchState } from '../search/state'
import { groupLabel, measureName, searchOf, type Axis, type Group } from './axes'

interface Props {
  pivot: Schemas['Pivot']
  rows: Axis
  columns: Axis | undefined
  measure: PivotMeasure | undefined
  title: string
  /** Otherwise the table is for screen readers only. */
  shown: boolean
  /** The address of a number's link; absent: no links. */
  addressOf?: ((state: SearchState) => string) | undefined
}

type Cell = { count: number; measure?: number | null }

/** PivotTable has a row and a column for each group, and those of all records first. */
export function PivotTable({ pivot, rows, columns, measure, title, shown, addressOf }: Props) {
  const { state, valueLabel } = useSearch()
  const box = useRef<HTMLDivElement>(null)
  const byTime = columns?.interval
  // The latest time is the most interesting.
  useEffect(() => {
    if (byTime) box.current?.scrollTo({ left: box.current.scrollWidth })
  }, [byTime, title])
  const groups = pivot.rows?.groups ?? []
  const across = columns ? (pivot.columns?.groups ?? []) : []
  const valueOf = (c: Cell) => (measure ? (c.measure ?? null) : c.count)
  const highest = Math.max(...(pivot.cells ?? []).flat().map((c) => valueOf(c) ?? 0), 0)
  const cell = (c: Cell, of: [Axis, Group][], key: number | string, shade: boolean) => {
    const value = valueOf(c)
    const next = shown && addressOf ? searchOf(state, of, c.count) : undefined
    const text = value === null ? '–' : formatNumber(value)
    const part = shade && highest > 0 && value !== null && value > 0 ? Math.ceil((value / highest) * 5) : 0
    return (
      <td
        key={key}
        className={part > 0 ? `heat-${part}` : undefined}
        title={measure ? `${formatNumber(c.count)} records` : undefined}
      >
        {next && addressOf ? <a {...link(addressOf(next))}>{text}</a> : text}
      </td>
    )
  }
  return (
    <div
      ref={box}
      className={shown ? 'chart-table pivot-table' : 'sr'}
      tabIndex={shown ? 0 : undefined}
      role="group"
      aria-label="Numbers"
    >
      <table>
        <caption className="sr">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{labelOf(rows.key)}</th>
            <th scope="col">Count</th>
            {measure && <th scope="col">{measureName(measure)}</th>}
            {columns &&
              across.map((g, j) => (
                <th key={j} scope="col">
                  <bdi>{groupLabel(columns, g, valueLabel)}</bdi>
                </th>
              ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((g, i) => (
            <tr key={i}>
              <th scope="row">
                <bdi>{groupLabel(rows, g, valueLabel)}</bdi>
              </th>
              {measure && <td>{formatNumber(g.count)}</td>}
              {cell(g, [[rows, g]], 'all', false)}
              {columns &&
                across.map((c, j) =>
                  cell(
                    pivot.cells?.[i]?.[j] ?? { count: 0 },
                    [
                      [rows, g],
                      [columns, c],
                    ],
                    j,
                    true,
                  ),
                )}
            </tr>
          ))}
          <tr className="pivot-total">
            <th scope="row">All</th>
            {measure && <td>{formatNumber(pivot.count)}</td>}
            <td>{measure ? shownOf(pivot.measure) : formatNumber(pivot.count)}</td>
            {columns && across.map((c, j) => cell(c, [[columns, c]], j, false))}
          </tr>
        </tbody>
      </table>
    </div>
  )
}

const shownOf = (value: number | null | undefined) =>
  value === null || value === undefined ? '–' : formatNumber(value)
