import type { Measure } from '../api/queries'
import { capital, labelOf, nouns, overviewDate, rail, steps, type Dataset, type RailField } from '../datasets'
import { ownOf, type Scope } from '../source'

export const intervals = ['year', 'quarter', 'month', 'week', 'day'] as const
export type Interval = (typeof intervals)[number]

/** Dimension is what a chart counts by. */
export type Dimension = RailField & { interval?: Interval }

// Fields that a chart counts by beside those of the rail.
const additionalFields: Record<Dataset, RailField[]> = {
  projects: [
    { key: 'account_ids', kind: 'values' },
    { key: 'filed_at', kind: 'date' },
    { key: 'completed_at', kind: 'date' },
    { key: 'stories', kind: 'number', ranges: steps(1, 1, 2, 3, 4, 5, 10, 20, 40) },
    { key: 'signals_count', kind: 'number', ranges: steps(1, 1, 2, 3, 4, 5, 10) },
  ],
  accounts: [{ key: 'state', kind: 'values' }],
  contacts: [{ key: 'state', kind: 'values' }],
  signals: [{ key: 'account_ids', kind: 'values' }],
}

/** dimensionsOf lists what a search can be counted by. */
export const dimensionsOf = (scope: Scope): RailField[] => [
  ...ownOf(scope),
  ...rail[scope.dataset],
  ...additionalFields[scope.dataset],
]

const measured: Record<Dataset, string[]> = {
  projects: ['cost', 'sqft', 'residential_units', 'stories'],
  accounts: ['projects_count', 'contacts_count', 'signals_count'],
  contacts: ['projects_count'],
  signals: [],
}

/** measureFields lists the numbers of a dataset that a chart can measure. */
export const measureFields = (dataset: Dataset) => measured[dataset]

export const statistics: { of: Measure['of']; label: string }[] = [
  { of: 'sum', label: 'Total' },
  { of: 'avg', label: 'Average' },
  { of: 'min', label: 'Lowest' },
  { of: 'max', label: 'Highest' },
]

/** dimensionOf reads `by` of an address: a field, of a date with its interval. */
export function dimensionOf(scope: Scope, by: string | undefined): Dimension {
  const all = dimensionsOf(scope)
  const [key = '', name] = (by ?? overviewDate[scope.dataset] ?? '').split(':')
  const field = all.find((f) => f.key === key) ?? (all[0] as RailField)
  if (field.kind !== 'date') return field
  return { ...field, interval: intervals.find((i) => i === name) ?? 'month' }
}

/** measureOf reads `of` of an address: sum:cost. */
export function measureOf(dataset: Dataset, of: string | undefined): Measure | undefined {
  const [name, field = ''] = of?.split(':') ?? []
  const statistic = statistics.find((s) => s.of === name)
  return statistic && measured[dataset].includes(field) ? { field, of: statistic.of } : undefined
}

/** The event of a date field, in a title. */
const days: Record<string, string> = {
  permitted_at: 'permit',
  filed_at: 'filing',
  completed_at: 'completion',
  last_signal_at: 'latest signal',
  last_activity_at: 'latest activity',
  occurred_at: 'event',
  detected_at: 'detection',
  updated_at: 'latest change of ours',
}

/** Titles of fields that differ from their labels. */
const words: Record<string, string> = { account_ids: 'firm', account_type: 'kind of firm', signal_type: 'kind' }

const lower = (key: string) => words[key] ?? labelOf(key).toLowerCase()

/** measureLabel names what is measured: "Total cost". */
export function measureLabel(dataset: Dataset, measure: Measure | undefined): string {
  if (!measure) return `Number of ${nouns[dataset].many}`
  return `${statistics.find((s) => s.of === measure.of)?.label ?? ''} ${lower(measure.field)}`
}

/** titleOf is the chart in a sentence: "Total cost of projects by month of permit". */
export function titleOf(dataset: Dataset, dimension: Dimension, measure: Measure | undefined): string {
  const what = measure ? `${measureLabel(dataset, measure)} of ${nouns[dataset].many}` : capital(nouns[dataset].many)
  const { key, interval } = dimension
  return `${what} by ${interval ? `${interval} of ${days[key] ?? lower(key)}` : lower(key)}`
}

/** finerInterval is the interval that a click leads to. */
export const finerInterval = (interval: Interval): Interval =>
  interval === 'year' || interval === 'quarter' ? 'month' : 'day'

/** Most ranges that a range is divided into. */
const maxRanges = 12

/** divide splits a range of numbers at round limits. No value lies between two ranges: gap is the smallest step. */
export function divide(from: number, to: number, gap: number): [number, number][] {
  const span = to - from
  if (!(span > 0)) return [[from, to]]
  const rough = Math.max(gap, span / maxRanges)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999) ?? rough
  const limits: number[] = []
  for (let i = Math.floor(from / step) + 1; i * step <= to; i++) limits.push(round(i * step))
  const starts = [from, ...limits]
  return starts.map((start, i) => {
    const next = starts[i + 1]
    return [start, next === undefined ? to : round(next - gap)]
  })
}

const round = (n: number) => Number(n.toPrecision(15))

/** gapOf is the smallest step between values of a number: whole, or to the cent. */
export const gapOf = (key: string) => (key === 'cost' || key === 'sqft' ? 0.01 : 1)
