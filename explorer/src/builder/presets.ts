/** Preset is a range of dates that people ask for. Days are UTC days. */
export interface Preset {
  label: string
  from: string
  to?: string
}

const iso = (at: Date) => at.toISOString().slice(0, 10)

function ago(today: Date, days: number): string {
  return iso(new Date(today.getTime() - days * 86_400_000))
}

/** presetsOf writes ranges as dates, so that an address finds the same tomorrow. */
export function presetsOf(today: Date): Preset[] {
  const year = today.getUTCFullYear()
  return [
    ...[7, 30, 90, 365].map((days) => ({ label: `Last ${days} days`, from: ago(today, days) })),
    { label: 'This year', from: `${year}-01-01`, to: `${year}-12-31` },
    { label: 'Last year', from: `${year - 1}-01-01`, to: `${year - 1}-12-31` },
  ]
}
