import type { SearchState } from '../search/state'

/** sortedBy returns the search in the order of a field, or in the other order if it is that already. */
export function sortedBy(state: SearchState, field: string): SearchState {
  const order = state.sort?.field === field ? state.sort.order : undefined
  const first = field === 'name' ? 'asc' : 'desc'
  return { ...state, sort: { field, order: order === undefined ? first : order === 'asc' ? 'desc' : 'asc' } }
}
