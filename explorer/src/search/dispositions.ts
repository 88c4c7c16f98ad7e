import type { Counts } from '../api/queries'
import type { SearchState } from './state'

/**
 * dispositionsOf are the projects of a stage that do not go on, unless the search has a condition
 * on dispositions itself.
 */
export function dispositionsOf({ dataset, conditions }: SearchState, counts: Pick<Counts, 'facets'> | undefined) {
  if (dataset !== 'projects' || !conditions.stage || conditions.disposition) return []
  const facet = counts?.facets.find((f) => f.field === 'disposition')
  return (facet?.values ?? []).filter((v) => v.value !== 'active' && v.count > 0)
}
