import { lastDays } from '../search/relative'

/** Preset is a range of dates that people ask for, in UTC days. */
export interface Preset {
  label: string
  from: string
  to?: string
}

/** presetsOf writes the last days as relative dates, so that an address stays meaningful, and years as dates. */
export function presetsOf(today: Date): Preset[] {
  const year = today.getUTCFullYear()
  return [
    ...[7, 30, 90, 365].map((days) => ({ label: `Last ${days} days`, from: lastDays(days) })),
    { label: 'This year', from: `${year}-01-01`, to: `${year}-12-31` },
    { label: 'Last year', from: `${year - 1}-01-01`, to: `${year - 1}-12-31` },
  ]
}
