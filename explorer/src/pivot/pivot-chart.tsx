import * as Plot from '@observablehq/plot'
import { useEffect, useMemo, useRef } from 'react'
import type { Schemas } from '../api/client'
import type { PivotMeasure } from '../api/queries'
import { className } from '../charts/plot-chart'
import { formatNumber, formatShort } from '../format'
import { useSearch } from '../search/context'
import { useWidth } from '../ui/use-width'
import { groupLabel, measureName, type Axis } from './axes'

/** Colours of the columns, in both themes: names of the page's style. */
const colours = Array.from({ length: 8 }, (_, i) => `var(--group-${i + 1})`)
const colourOf = (j: number) => colours[j % colours.length] as string

interface Props {
  pivot: Schemas['Pivot']
  rows: Axis
  columns: Axis | undefined
  measure: PivotMeasure | undefined
  title: string
}

/**
 * PivotChart draws a bar for each row. Counts and totals of the columns add up to a bar, if no
 * record has several; else a bar is that of the whole row.
 */
export function PivotChart({ pivot, rows, columns, measure, title }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const { valueLabel } = useSearch()
  const adds = columns !== undefined && (!measure || measure.of === 'sum')
  const bars = useMemo(() => {
    const valueOf = (c: { count: number; measure?: number | null }) => (measure ? (c.measure ?? 0) : c.count)
    return (pivot.rows?.groups ?? []).flatMap((g, i) => {
      const label = groupLabel(rows, g, valueLabel)
      if (!adds) return [{ row: label, column: '', at: 0, value: valueOf(g) }]
      return (pivot.columns?.groups ?? []).map((c, j) => ({
        row: label,
        column: groupLabel(columns, c, valueLabel),
        at: j,
        value: valueOf(pivot.cells?.[i]?.[j] ?? { count: 0 }),
      }))
    })
  }, [pivot, rows, columns, measure, adds, valueLabel])
  useEffect(() => {
    if (!box.current || width === 0) return
    const order = [...new Set(bars.map((b) => b.row))]
    const chart = Plot.plot({
      className,
      width,
      height: 48 + order.length * 28,
      marginLeft: Math.min(220, width / 3),
      ariaLabel: title,
      style: { background: 'none', color: 'var(--text-3)', fontFamily: 'var(--font)', fontSize: '12px' },
      x: { label: null, tickFormat: (n: number) => formatShort(n), grid: true, ticks: width < 500 ? 3 : 6 },
      y: { label: null, domain: order },
      marks: [
        Plot.barX(bars, {
          x: 'value',
          y: 'row',
          fill: (b: { at: number }) => colourOf(b.at),
          title: (b: { row: string; column: string; value: number }) =>
            [b.row, b.column, formatNumber(b.value)].filter(Boolean).join(' · '),
        }),
        Plot.ruleX([0], { stroke: 'var(--line-strong)' }),
      ],
    }) as SVGSVGElement
    chart.setAttribute('role', 'img')
    for (const part of chart.querySelectorAll('g[aria-label]')) part.removeAttribute('aria-label')
    box.current.replaceChildren(chart)
  }, [bars, title, width])
  const names = adds ? (pivot.columns?.groups ?? []).map((c) => groupLabel(columns, c, valueLabel)) : []
  return (
    <>
      <div ref={box} className="chart" />
      {names.length > 0 && (
        <ul className="pivot-legend">
          {names.map((name, j) => (
            <li key={j}>
              <span style={{ background: colourOf(j) }} aria-hidden />
              <bdi>{name}</bdi>
            </li>
          ))}
        </ul>
      )}
      {columns && !adds && measure && <p className="quiet notes">{measureName(measure)} of whole rows.</p>}
    </>
  )
}
