import type { PivotBy, PivotMeasure } from '../api/queries'
import type { Schemas } from '../api/client'
import { timeLabel } from '../charts/points'
import { dimensionsOf, measureFields } from '../charts/dimensions'
import { barsOf, rangeOf } from '../search/buckets'
import { withCondition, type Condition, type KindOf, type SearchState } from '../search/state'
import { labelOf, overviewDate, type RailField } from '../datasets'
import type { Scope } from '../source'

export const intervals = ['year', 'quarter', 'month'] as const
export type Interval = (typeof intervals)[number]

/** Axis is the rows or the columns of a pivot. */
export type Axis = RailField & { interval?: Interval }

/** hasSeveral reports whether a record can have several values of a field, and is in several groups then. */
export const hasSeveral = ({ key }: RailField) => ['account_type', 'tags', 'account_ids'].includes(key)

/** How many values are listed in rows and in columns: a pivot has at most 1,000 cells. */
const maxGroups = { rows: 20, columns: 10 }

/** axesOf lists what a search can be grouped by: enums and dates, no ids and no texts. */
export const axesOf = (scope: Scope, kindOf: KindOf): RailField[] =>
  dimensionsOf(scope).filter(({ key }) => ['values', 'date'].includes(kindOf(scope.dataset, key) ?? ''))

/** axisOf reads a field of an address, of a date with its interval. */
export function axisOf(all: RailField[], text: string | undefined): Axis | undefined {
  const [key, name] = (text ?? '').split(':')
  const field = all.find((f) => f.key === key)
  if (field?.kind !== 'date') return field
  return { ...field, interval: intervals.find((i) => i === name) ?? 'year' }
}

/** rowsOf are the row fields of a pivot: those of the address, or the default ones of the dataset. */
export const rowsOf = (all: RailField[], state: SearchState): Axis =>
  axisOf(all, state.by) ?? all.find((f) => f.kind === 'values') ?? (all[0] as RailField)

/** columnsOf are the columns; an address that has neither rows nor columns gets years. */
export function columnsOf(all: RailField[], state: SearchState): Axis | undefined {
  if (state.by === undefined && state.across === undefined)
    return axisOf(all, `${overviewDate[state.dataset] ?? ''}:year`)
  return axisOf(all, state.across)
}

export const byOf = ({ key, interval }: Axis, of: keyof typeof maxGroups): PivotBy =>
  interval ? { field: key, interval } : { field: key, limit: maxGroups[of] }

export const statistics: { of: PivotMeasure['of']; label: string }[] = [
  { of: 'sum', label: 'Total' },
  { of: 'average', label: 'Average' },
  { of: 'median', label: 'Median' },
  { of: 'min', label: 'Lowest' },
  { of: 'max', label: 'Highest' },
]

/** measureOf reads `of` of an address: median:cost. That of charts says avg. */
export function measureOf(state: SearchState): PivotMeasure | undefined {
  const [name, field = ''] = state.of?.split(':') ?? []
  const statistic = statistics.find((s) => s.of === (name === 'avg' ? 'average' : name))
  return statistic && measureFields(state.dataset).includes(field) ? { field, of: statistic.of } : undefined
}

export const measureName = (m: PivotMeasure) =>
  `${statistics.find((s) => s.of === m.of)?.label ?? ''} ${labelOf(m.field).toLowerCase()}`

export type Group = Schemas['PivotGroup']

/** groupLabel is the label of a group. */
export function groupLabel(axis: Axis, g: Group, valueLabel: (key: string, value: string) => string): string {
  switch (g.group) {
    case 'bucket':
      return timeLabel(axis.interval ?? 'year', String(g.from))
    case 'other':
      return 'Other values'
    case 'unknown':
      return 'Not known'
    default:
      return g.label ?? valueLabel(axis.key, g.value ?? '')
  }
}

/** conditionOf is the condition on the records of a group; an address cannot express other values. */
function conditionOf(g: Group): Condition | undefined {
  switch (g.group) {
    case 'bucket':
      return rangeOf(barsOf('date', [{ from: g.from ?? null, to: g.to ?? null, count: g.count }]), 0, 0)
    case 'unknown':
      return { kind: 'known', known: false }
    case 'value':
      return { kind: 'values', values: [g.value ?? ''] }
    default:
      return undefined
  }
}

/** searchOf is the search of a cell, undefined where a group cannot be expressed or is empty. */
export function searchOf(state: SearchState, groups: [Axis, Group][], count: number): SearchState | undefined {
  if (count === 0) return undefined
  let next: SearchState = state
  const used = new Set<string>()
  for (const [axis, group] of groups) {
    const condition = conditionOf(group)
    // A field has one condition, so two of its groups cannot be combined.
    if (!condition || used.has(axis.key) || within(state.conditions[axis.key])) return undefined
    // Nor a condition on a list together with the value of a group, which a record may have in
    // addition.
    if (hasSeveral(axis) && group.group === 'value' && state.conditions[axis.key]?.kind === 'values') return undefined
    used.add(axis.key)
    next = withCondition(next, axis.key, condition)
  }
  return next
}

/** Part of a range of days may begin or end within a group: the condition of the group would widen it. */
const within = (before: Condition | undefined) => before?.kind === 'range'
