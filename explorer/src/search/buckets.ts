import type { Schemas } from '../api/client'
import type { FieldKind } from '../datasets'
import { formatMonth, formatShort } from '../format'
import type { Bar } from '../ui/histogram'
import type { Condition } from './state'

/** A day in milliseconds. */
const day = 86_400_000

const isoDay = (at: number) => new Date(at).toISOString().slice(0, 10)

/** barsOf turns buckets into bars with the ends of a range: inclusive, days of dates, numbers as they are. */
export function barsOf(kind: FieldKind, buckets: Schemas['BucketCount'][]): Bar[] {
  return buckets.map((b) => {
    if (kind === 'date') {
      const from = String(b.from)
      const last = Date.parse(String(b.to)) - day
      const isYear = last - Date.parse(from) > 300 * day
      return {
        from: from.slice(0, 10),
        to: isoDay(last),
        count: b.count,
        label: isYear ? from.slice(0, 4) : formatMonth(from),
      }
    }
    const from = b.from === null ? undefined : Number(b.from)
    const to = b.to === null ? undefined : Number(b.to)
    return {
      ...(from === undefined ? {} : { from: String(from) }),
      ...(to === undefined ? {} : { to: String(to) }),
      count: b.count,
      label: numbers(from, to),
    }
  })
}

function numbers(from: number | undefined, to: number | undefined): string {
  // A range up to 9,999.99 ends below 10,000.
  const end = to === undefined ? undefined : Number.isInteger(to) ? to : Math.ceil(to)
  if (from === undefined) return end === 0 ? '0' : `below ${formatShort(to === end ? (to ?? 0) + 1 : (end ?? 0))}`
  if (end === undefined) return `${formatShort(from)} or more`
  return from === end ? formatShort(from) : `${formatShort(from)} – ${formatShort(end)}`
}

/** rangeOf is the range from a first to a last bar. */
export function rangeOf(bars: Bar[], first: number, last: number): Condition | undefined {
  const from = bars[first]?.from
  const to = bars[last]?.to
  if (from === undefined && to === undefined) return undefined
  return { kind: 'range', ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}
