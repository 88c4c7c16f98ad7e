import type { Reading } from '../api/queries'
import { relationOf, type Dataset } from '../datasets'
import { read, type Condition, type Conditions, type Pair } from './conditions'
import type { KindOf, SearchState } from './state'

type Filters = Reading['filters']

/**
 * withReading is a search with the conditions of a reading, and the remaining words. It replaces
 * conditions on the same field.
 */
export function withReading(state: SearchState, reading: Reading, kindOf: KindOf): SearchState {
  const found = read(pairsOf(reading, state.dataset, kindOf), state.dataset, kindOf, () => false)
  const conditions: Conditions = { ...state.conditions }
  for (const [key, c] of Object.entries(found)) conditions[key] = both(conditions[key], c)
  const { record: _, ...rest } = state
  return { ...rest, query: reading.query ?? '', conditions }
}

/** both merges conditions on one related record; the second one wins. */
function both(before: Condition | undefined, c: Condition): Condition {
  if (before?.kind !== 'related' || c.kind !== 'related') return c
  return { kind: 'related', conditions: { ...before.conditions, ...c.conditions } }
}

function pairsOf({ filters, relations }: Reading, dataset: Dataset, kindOf: KindOf): Pair[] {
  const related = Object.entries(relations).flatMap(([key, of]) =>
    pairs(of, relationOf(key)?.dataset ?? dataset, kindOf).map(([name, value]): Pair => [`${key}.${name}`, value]),
  )
  return [...pairs(filters, dataset, kindOf), ...related]
}

function pairs(filters: Filters, dataset: Dataset, kindOf: KindOf): Pair[] {
  return Object.entries(filters).flatMap(([key, { value }]): Pair[] => {
    const kind = kindOf(dataset, key)
    if (kind !== 'number' && kind !== 'date') return value.map((v) => [key, String(v)])
    return [[key, value.map((end) => end ?? '').join('..')]]
  })
}
