const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
const monthYear = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const dayClock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

const date = (text: string) => new Date(text)

/** Days of records are UTC days. */
export const formatDay = (text: string) => day.format(date(text))
export const formatMonth = (text: string) => monthYear.format(date(text))
export const formatNumber = (n: number) => whole.format(n)
export const formatShort = (n: number) => short.format(n)

/** formatMoment is a time of this user's clock, with its day if that is not today. */
export function formatMoment(at: Date, now = new Date()): string {
  return (at.toDateString() === now.toDateString() ? clock : dayClock).format(at)
}

export function credits(n: number): string {
  return `${formatNumber(n)} ${n === 1 ? 'credit' : 'credits'}`
}
