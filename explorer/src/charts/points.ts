import type { Schemas } from '../api/client'
import type { FieldFacet, Measure } from '../api/queries'
import { formatDay, formatMonth } from '../format'
import { barsOf, rangeOf } from '../search/buckets'
import type { Condition } from '../search/state'
import { divide, gapOf, type Dimension, type Interval } from './dimensions'

/** Point is a bar of a chart and a row of its table. */
export interface Point {
  label: string
  count: number
  /** What is drawn: the measure, or the count. Null if nothing is known. */
  value: number | null
  /** The condition that a click adds. */
  condition: Condition | undefined
  /** The start and the end of a time. */
  time?: [Date, Date]
  /** The condition on the field excludes it. */
  out?: boolean
}

/** How many values a chart has. */
const values = 20

/**
 * requestOf is the request for the points. For values it ignores the condition on the field, so
 * that the other values stay visible; times and numbers are those of the condition.
 */
export function requestOf(
  dimension: Dimension,
  measure: Measure | undefined,
  ends: [number, number] | undefined,
): FieldFacet {
  const { key: field, kind, interval, ranges } = dimension
  const common = measure ? { measure } : {}
  if (kind === 'date') return { field, interval: interval ?? 'month', exclude_own: false, ...common }
  if (kind === 'values') return { field, limit: values, ...common }
  return { field, ranges: ends ? divide(...ends, gapOf(field)) : (ranges ?? []), exclude_own: false, ...common }
}

/** pointsOf are the points of an answer. */
export function pointsOf(
  { key, kind, interval }: Dimension,
  measure: Measure | undefined,
  facet: Schemas['Facet'],
  condition: Condition | undefined,
  valueLabel: (key: string, value: string) => string,
): Point[] {
  const valueOf = (c: { count: number; measure?: number | null }) => (measure ? (c.measure ?? null) : c.count)
  if (kind === 'values') {
    const chosen = condition?.kind === 'values' ? condition.values.map((v) => v.toLowerCase()) : undefined
    return (facet.values ?? []).map((v) => ({
      label: v.label ?? valueLabel(key, v.value),
      count: v.count,
      value: valueOf(v),
      condition: { kind: 'values', values: [v.value] },
      ...(chosen ? { out: !chosen.includes(v.value.toLowerCase()) } : {}),
    }))
  }
  const buckets = facet.buckets ?? []
  const bars = barsOf(kind, buckets)
  return buckets.map((b, i) => ({
    label: interval ? timeLabel(interval, String(b.from)) : (bars[i]?.label ?? ''),
    count: b.count,
    value: valueOf(b),
    condition: rangeOf(bars, i, i),
    ...(interval ? { time: [new Date(String(b.from)), new Date(String(b.to))] } : {}),
  }))
}

/** timeLabel names a bucket of dates. */
export function timeLabel(interval: Interval, from: string): string {
  const year = from.slice(0, 4)
  switch (interval) {
    case 'year':
      return year
    case 'quarter':
      return `Q${Math.floor((Number(from.slice(5, 7)) + 2) / 3)} ${year}`
    case 'month':
      return formatMonth(from)
    case 'week':
      return `Week of ${formatDay(from)}`
    case 'day':
      return formatDay(from)
  }
}

/** rows is the table behind a chart, with its header. Ends of times and of ranges are inclusive. */
export function rows(dimension: string, measure: string | undefined, points: Point[]): (string | number | null)[][] {
  const ranged = points.some((p) => p.condition?.kind === 'range')
  const ends = ({ condition: c, time }: Point) => {
    const { from, to } = c?.kind === 'range' ? c : {}
    return [from, to].map((end) => (end === undefined ? null : time ? end : Number(end)))
  }
  return [
    [dimension, ...(ranged ? ['From', 'To'] : []), 'Count', ...(measure ? [measure] : [])],
    ...points.map((p) => [p.label, ...(ranged ? ends(p) : []), p.count, ...(measure ? [p.value] : [])]),
  ]
}
