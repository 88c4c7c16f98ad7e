import * as Plot from '@observablehq/plot'
import { useEffect, useRef, type RefObject } from 'react'
import { formatMonth, formatNumber, formatShort } from '../format'
import { useWidth } from '../ui/use-width'
import type { Point } from './points'

/** The class of all charts: the content security policy has the hash of the style that Plot makes of it. */
export const className = 'plot'

interface Props {
  points: Point[]
  /** What the axis of values says. */
  measure: string
  label: string
  onChoose: (point: Point) => void
  /** Holds the drawing, for the download. */
  drawingRef: RefObject<SVGSVGElement | null>
}

/** Height of a bar of values and of a chart of times, and the longest label, in pixels. */
const sizes = { bar: 28, times: 340, label: 220 }

/** PlotChart draws bars. A click chooses the nearest one. */
export function PlotChart({ points, measure, label, onChoose, drawingRef }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const choose = useRef(onChoose)
  useEffect(() => {
    choose.current = onChoose
  }, [onChoose])
  useEffect(() => {
    if (!box.current || width === 0) return
    const drawn = points.filter((p) => p.value !== null)
    const chart = Plot.plot({
      ...(drawn[0]?.time ? times(drawn, measure, width) : values(drawn, measure, width)),
      className,
      width,
      ariaLabel: label,
      style: { background: 'none', color: 'var(--text-3)', fontFamily: 'var(--font)', fontSize: '12px' },
    }) as SVGSVGElement & { value?: Point | null }
    chart.setAttribute('role', 'img')
    // The parts of an image have no names of their own.
    for (const part of chart.querySelectorAll('g[aria-label]')) part.removeAttribute('aria-label')
    chart.addEventListener('click', () => {
      if (chart.value) choose.current(chart.value)
    })
    box.current.replaceChildren(chart)
    drawingRef.current = chart
  }, [points, measure, label, width, drawingRef])
  return <div ref={box} className="chart" />
}

const fill = (p: Point) => (p.out ? 'var(--bar-out)' : 'var(--bar)')
const textOf = (measure: string) => (p: Point) => `${p.label}\n${measure}: ${formatNumber(p.value ?? 0)}`
const tip = {
  className: 'tip',
  fill: 'var(--raised)',
  stroke: 'var(--line-strong)',
  textPadding: 8,
  fontSize: 12,
  lineHeight: 1.4,
} as const

/** tipOf is the tooltip. It is redrawn at each move of the mouse, so Plot must not give it an accessible name. */
function tipOf(points: Point[], options: Plot.TipOptions): Plot.Markish {
  return Object.assign(Plot.tip(points, options), { ariaLabel: undefined })
}

/** times has a bar for each bucket of dates. */
function times(points: Point[], measure: string, width: number): Plot.PlotOptions {
  const bar = { x1: (p: Point) => p.time?.[0], x2: (p: Point) => p.time?.[1], y: 'value' }
  const first = points[0]?.time?.[0].getTime() ?? 0
  const last = points.at(-1)?.time?.[1].getTime() ?? 0
  const years = last - first > 3 * 366 * 86_400_000
  // Many bars on a narrow page have little room between them.
  const one = points[0]?.time ? points[0].time[1].getTime() - first : 1
  // Records have no halves.
  const most = Math.max(...points.map((p) => p.value ?? 0))
  const ticks = points.every((p) => Number.isInteger(p.value)) ? Math.min(5, Math.max(1, most)) : 5
  const inset = Math.min(0.5, (width - 64) / ((last - first) / one + 1) / 8)
  return {
    height: sizes.times,
    marginLeft: 52,
    marginRight: 12,
    marginBottom: 28,
    x: {
      type: 'utc',
      ticks: Math.min(12, Math.floor(width / 80)),
      tickFormat: (d: Date) =>
        years ? (d.getUTCMonth() === 0 ? String(d.getUTCFullYear()) : '') : formatMonth(d.toISOString()),
      tickSize: 4,
      label: null,
    },
    y: { label: null, ticks, tickFormat: (n: number) => formatShort(n), tickSize: 0, zero: true },
    marks: [
      Plot.gridY({ ticks, stroke: 'var(--line)', strokeOpacity: 1 }),
      Plot.rectY(points, { ...bar, fill: { value: fill, scale: null }, insetLeft: inset, insetRight: inset }),
      Plot.ruleY([0], { stroke: 'var(--line-strong)' }),
      tipOf(points, Plot.pointerX({ ...bar, title: textOf(measure), ...tip })),
    ],
  }
}

/** values has a bar for each value or range, from top to bottom, with its number beside it. */
function values(points: Point[], measure: string, width: number): Plot.PlotOptions {
  const longest = Math.max(0, ...points.map((p) => p.label.length))
  const marginLeft = Math.min(longest * 7.2 + 16, sizes.label, width * 0.42)
  const letters = Math.floor((marginLeft - 12) / 7.2)
  const short = (text: string) => ([...text].length > letters ? `${[...text].slice(0, letters - 1).join('')}…` : text)
  // Two firms may have the same name.
  const bar = { x: 'value', y: (_: Point, i: number) => i }
  return {
    height: points.length * sizes.bar + 16,
    marginLeft,
    marginRight: 64,
    marginTop: 8,
    marginBottom: 8,
    x: { axis: null, zero: true },
    y: {
      type: 'band',
      label: null,
      tickSize: 0,
      tickFormat: (i: number) => short(points[i]?.label ?? ''),
      padding: 0.3,
    },
    marks: [
      Plot.barX(points, { ...bar, fill: { value: fill, scale: null }, rx: 2 }),
      Plot.text(points, {
        ...bar,
        text: (p: Point) => formatShort(p.value ?? 0),
        textAnchor: 'start',
        dx: 6,
        fill: 'var(--text-2)',
      }),
      Plot.ruleX([0], { stroke: 'var(--line-strong)' }),
      tipOf(points, Plot.pointerY({ ...bar, title: textOf(measure), ...tip })),
    ],
  }
}
