import * as Plot from '@observablehq/plot'
import { useEffect, useMemo, useRef } from 'react'
import type { Schemas } from '../api/client'
import type { PivotMeasure } from '../api/queries'
import { className } from '../charts/plot-chart'
import { formatNumber, formatShort } from '../format'
import { useSearch } from '../search/context'
import { useWidth } from '../ui/use-width'
import { groupLabel, measureName, type Axis } from './axes'
import { barsOf, type Bar } from './bars'

/** Colours of the columns, in both themes: names of the page's style, as many as mostParts. */
const colourOf = (j: number) => `var(--group-${j + 1})`

interface Props {
  pivot: Schemas['Pivot']
  rows: Axis
  columns: Axis | undefined
  measure: PivotMeasure | undefined
  title: string
}

/** PivotChart draws a bar for each row, divided into its columns if they add up to it. */
export function PivotChart({ pivot, rows, columns, measure, title }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const { valueLabel } = useSearch()
  const labels = useMemo(
    () => (pivot.rows?.groups ?? []).map((g) => groupLabel(rows, g, valueLabel)),
    [pivot, rows, valueLabel],
  )
  const { bars, columns: names } = useMemo(() => {
    const all = columns ? (pivot.columns?.groups ?? []).map((c) => groupLabel(columns, c, valueLabel)) : []
    return barsOf(pivot, columns, measure, all)
  }, [pivot, columns, measure, valueLabel])
  useEffect(() => {
    if (!box.current || width === 0) return
    const chart = Plot.plot({
      className,
      width,
      height: 48 + labels.length * 28,
      marginLeft: Math.min(220, width / 3),
      ariaLabel: title,
      style: { background: 'none', color: 'var(--text-3)', fontFamily: 'var(--font)', fontSize: '12px' },
      x: { label: null, tickFormat: (n: number) => formatShort(n), grid: true, ticks: width < 500 ? 3 : 6 },
      y: { type: 'band', label: null, domain: labels.map((_, i) => i), tickFormat: (i: number) => labels[i] ?? '' },
      marks: [
        Plot.barX(bars, {
          x: 'value',
          y: 'row',
          fill: (b: Bar) => colourOf(b.column),
          title: (b: Bar) => [labels[b.row], names[b.column], formatNumber(b.value)].filter(Boolean).join(' · '),
        }),
        Plot.ruleX([0], { stroke: 'var(--line-strong)' }),
      ],
    }) as SVGSVGElement
    chart.setAttribute('role', 'img')
    for (const part of chart.querySelectorAll('g[aria-label]')) part.removeAttribute('aria-label')
    box.current.replaceChildren(chart)
  }, [bars, labels, names, title, width])
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
      {columns && names.length === 0 && (
        <p className="quiet notes">{measure ? measureName(measure) : 'Count'} of whole rows.</p>
      )}
    </>
  )
}
