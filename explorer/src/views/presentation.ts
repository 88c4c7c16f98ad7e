import type { View } from '../api/views'
import { columnsOf } from '../search/columns'
import type { SearchState } from '../search/state'

type Presentation = View['presentation']

/** presentationOf is how the search looks, for a View. What a View says of its columns stays. */
export function presentationOf({ sort }: SearchState, view?: View): Presentation {
  return {
    version: 1,
    sorting: sort ? [{ id: sort.field, desc: sort.order === 'desc' }] : [],
    column_visibility: view?.presentation.column_visibility ?? {},
  }
}

/** sortOf is the order that a View opens in: the first of its own that Views can be sorted by. */
export function sortOf(view: View, state: SearchState): SearchState['sort'] {
  const sorts = columnsOf(state).filter((c) => c.sorts)
  const first = view.presentation.sorting.find(({ id }) => sorts.some((c) => c.key === id))
  return first && { field: first.id, order: first.desc ? 'desc' : 'asc' }
}
