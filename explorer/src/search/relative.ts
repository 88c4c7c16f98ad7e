// Relative dates are texts in place of dates that the service reads at each request
// (docs/api.md, Relative dates). All are in UTC.

const step = /^(now|today)(?:([+-]\d{1,4})([hdwMy]))?$/
const quarter = /^(\d{4})-[Qq]([1-4])$/

/** isRelative reports whether a text is a relative date. */
export function isRelative(text: string): boolean {
  const [, base, , unit] = step.exec(text) ?? []
  return base !== undefined ? !(base === 'today' && unit === 'h') : quarter.test(text)
}

/** lastDays is the relative date from which on there are so many days before today. */
export const lastDays = (days: number) => `now-${days}d`

/**
 * dayOf is the day that a relative date stands for now, as the first or the last end of a range;
 * other texts are unchanged.
 */
export function dayOf(text: string, end: 'from' | 'to', now = new Date()): string {
  if (!isRelative(text)) return text
  const [, year, number] = quarter.exec(text) ?? []
  if (number) {
    const month = 3 * Number(number) - (end === 'from' ? 3 : 0)
    // The day 0 of a month is the last one of the month before.
    return iso(utc(Number(year), month, end === 'from' ? 1 : 0))
  }
  const [, , count, unit] = step.exec(text) ?? []
  const n = Number(count ?? 0)
  const [y, m, d] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  if (unit === 'h') return iso(new Date(now.getTime() + n * 3_600_000))
  if (unit === 'd' || unit === 'w') return iso(utc(y, m, d + n * (unit === 'w' ? 7 : 1)))
  const month = m + n * (unit === 'y' ? 12 : 1)
  // Where a month is too short, its last day.
  return iso(utc(y, month, Math.min(d, utc(y, month + 1, 0).getUTCDate())))
}

/** daysOf are the ends of a range with the days that relative dates are now. */
export function daysOf(range: { from?: string; to?: string } | undefined): { from?: string; to?: string } {
  return {
    ...(range?.from === undefined ? {} : { from: dayOf(range.from, 'from') }),
    ...(range?.to === undefined ? {} : { to: dayOf(range.to, 'to') }),
  }
}

/** phraseRelative continues the name of a field for the ranges that have words of their own. */
export function phraseRelative({ from, to }: { from?: string; to?: string }): string | undefined {
  const [, days] = /^(?:now|today)-(\d+)d$/.exec(from ?? '') ?? []
  if (days && to === undefined) return `is in the last ${days} days`
  const [, year, number] = quarter.exec(from ?? '') ?? []
  if (number && to === from) return `is in Q${number} ${year}`
  return from === 'today' && to === from ? 'is today' : undefined
}

/**
 * endOf is the first or the last millisecond of an end of a range, whose days are complete;
 * undefined for times that move within the day.
 */
export function endOf(text: string, end: 'from' | 'to', now = new Date()): number | undefined {
  if (/^now([+-]\d+h)?$/.test(text)) return undefined
  const day = dayOf(text, end, now)
  const at = Date.parse(day)
  if (Number.isNaN(at)) return undefined
  return end === 'to' && /^\d{4}-\d\d-\d\d$/.test(day) ? at + 86_400_000 - 1 : at
}

/** utc is a day; unlike Date.UTC it takes years below 100 literally. */
function utc(year: number, month: number, day: number): Date {
  const at = new Date(0)
  at.setUTCFullYear(year, month, day)
  return at
}

const iso = (at: Date) => at.toISOString().slice(0, 10)
