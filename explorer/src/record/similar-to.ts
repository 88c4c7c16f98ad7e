import type { Records } from '../datasets'
import { maxValues } from '../search/conditions'
import type { SearchState } from '../search/state'

/**
 * similarTo is the search for firms of the same kinds in the same city with a project of the same
 * main use, unless that is “other”, which says nothing; undefined if less than two of these are
 * known, which would find any firm.
 */
export function similarTo(
  { account_types: kinds, city }: Pick<Records['accounts'], 'account_types' | 'city'>,
  use: string | undefined,
): SearchState | undefined {
  const is = (...values: string[]) => ({ kind: 'values' as const, values })
  const conditions: SearchState['conditions'] = {
    ...(kinds.length > 0 ? { account_type: is(...kinds.slice(0, maxValues)) } : {}),
    ...(city ? { city: is(city) } : {}),
    ...(use === undefined || use === 'other'
      ? {}
      : { has_project: { kind: 'related', conditions: { primary_use: is(use) } } }),
  }
  return Object.keys(conditions).length < 2 ? undefined : { dataset: 'accounts', query: '', conditions }
}
