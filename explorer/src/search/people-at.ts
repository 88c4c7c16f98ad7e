import { maxValues, type Conditions } from './conditions'
import type { SearchState } from './state'

/** The maximum number of firms in a search for their people: ten groups of as many as a condition takes. */
export const maxFirms = 10 * maxValues

/** peopleAt is the search for the people at firms. More than fit into a condition are alternatives. */
export function peopleAt(firms: string[]): SearchState {
  const groups: Conditions[] = []
  for (let at = 0; at < Math.min(firms.length, maxFirms); at += maxValues) {
    groups.push({ account_id: { kind: 'values', values: firms.slice(at, at + maxValues) } })
  }
  const [only = {}, ...more] = groups
  const all: SearchState = { dataset: 'contacts', query: '', conditions: {} }
  return more.length === 0 ? { ...all, conditions: only } : { ...all, any: groups }
}
