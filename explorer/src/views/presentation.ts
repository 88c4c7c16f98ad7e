import type { View } from '../api/views'
import type { SearchState } from '../search/state'
import { tableOf } from '../table/fields'
import { fromPresentation, toPresentation, type Look, type Presentation } from '../table/presentation'

/** presentationOf is how the search looks, for a View. What a View says of its columns stays if there are no others. */
export function presentationOf(state: SearchState, view?: View): Presentation {
  const { columns, sort } = state
  const look = toPresentation(tableOf(state), { ...(columns ? { columns } : {}), ...(sort ? { sort } : {}) })
  const within = state.source?.kind === 'view'
  return view && !columns && !within ? { ...look, column_visibility: view.presentation.column_visibility } : look
}

/** lookOf is how a View opens: its columns, and the first of its orders if Views can be sorted by it. */
export const lookOf = (view: View, state: SearchState): Look => fromPresentation(tableOf(state), view.presentation)

/** looksOther reports whether a search in a View has another order or other columns than the View. */
export function looksOther(view: View, state: SearchState): boolean {
  const now = presentationOf(state)
  const before = toPresentation(tableOf(state), lookOf(view, state))
  return JSON.stringify(now) !== JSON.stringify(before)
}
