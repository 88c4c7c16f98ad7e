import type { Schemas } from '../api/client'
import { nouns, type Dataset } from '../datasets'
import { credits } from '../format'
import { withCondition, type SearchState } from './state'

export type Suggestion = Schemas['Suggestion']

/** The longest prefix that the service completes, in characters. */
const maxPrefix = 100

/** prefixOf is the part of a text that the service can complete: undefined without a word. */
export function prefixOf(text: string): string | undefined {
  const prefix = text.trim()
  return /[\p{L}\p{M}\p{N}]/u.test(prefix) && [...prefix].length <= maxPrefix ? prefix : undefined
}

/** keyOf identifies a suggestion in its list: names may be equal. */
export const keyOf = (s: Suggestion) => `${s.field}:${s.id ?? s.value}`

/** Group has suggestions with the same effect. */
export interface Group {
  heading: string
  /** The price of choosing one. */
  price: string
  suggestions: Suggestion[]
}

/** groupsOf puts values before names: filters are free. Within a group the order is that of the service. */
export function groupsOf(suggestions: Suggestion[], dataset: Dataset): Group[] {
  const groups: Group[] = [
    { heading: 'Filter', price: 'free', suggestions: suggestions.filter((s) => s.id === undefined) },
    {
      heading: `Open a ${nouns[dataset].one}`,
      price: `${credits(1)}, free if it is loaded`,
      suggestions: suggestions.filter((s) => s.id !== undefined),
    },
  ]
  return groups.filter((g) => g.suggestions.length > 0)
}

/** step returns the key after or before the active one; undefined stands between last and first. */
export function step(keys: string[], active: string | undefined, by: 1 | -1): string | undefined {
  const around = keys.length + 1
  // Position 0 is the text box.
  const at = active === undefined ? 0 : keys.indexOf(active) + 1
  return keys[((at + by + around) % around) - 1]
}

/** The longest query of a search, in characters. */
const maxQuery = 500

/** chosen is the search after a suggestion was chosen, which replaces the typed text. */
export function chosen(state: SearchState, s: Suggestion): SearchState {
  if (s.id !== undefined) return { ...state, query: [...s.value].length <= maxQuery ? s.value : '', record: s.id }
  const before = state.conditions[s.field]
  const { values, ...rest } = before?.kind === 'values' ? before : { kind: 'values' as const, values: [] }
  const next = { ...state, query: '' }
  delete next.record
  return withCondition(next, s.field, { ...rest, values: [...values.filter((v) => v !== s.value), s.value] })
}
