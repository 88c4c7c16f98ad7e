import type { Sort } from '../api/queries'
import type { Dataset } from '../datasets'
import type { SearchState } from '../search/state'

const defaultSorts: Record<Dataset, Sort> = {
  projects: { field: 'last_signal_at', order: 'desc' },
  accounts: { field: 'name', order: 'asc' },
  contacts: { field: 'name', order: 'asc' },
  signals: { field: 'detected_at', order: 'desc' },
}

type Of = Pick<SearchState, 'dataset' | 'source'> & { query?: string }

/** defaultSort is the default order of a search; for a text in Data by relevance. */
export const defaultSort = ({ dataset, query, source }: Of) => (query && !source ? undefined : defaultSorts[dataset])

/** orderOf is the effective order of a search. */
export const orderOf = (state: SearchState): Sort | undefined => state.sort ?? defaultSort(state)

/** sortOn returns the search in the first order of a field: names from A on, all others from the highest. */
export const sortOn = (state: SearchState, field: string): SearchState => ({
  ...state,
  sort: { field, order: field === 'name' ? 'asc' : 'desc' },
})

/** sortedBy returns the search in the order of a field, or in the reverse order if it already has it. */
export function sortedBy(state: SearchState, field: string): SearchState {
  const now = orderOf(state)
  if (now?.field !== field) return sortOn(state, field)
  return { ...state, sort: { field, order: now.order === 'asc' ? 'desc' : 'asc' } }
}
