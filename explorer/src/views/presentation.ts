import type { View } from '../api/views'
import type { SearchState } from '../search/state'
import { tableOf } from '../table/fields'
import { fromPresentation, toPresentation, type Look, type Presentation } from '../table/presentation'

/** presentationOf is the look of the search, for a View. Without other columns, those of the View stay. */
export function presentationOf(state: SearchState, view?: View): Presentation {
  const { columns, sort } = state
  const look = toPresentation(tableOf(state), { ...(columns ? { columns } : {}), ...(sort ? { sort } : {}) })
  const within = state.source?.kind === 'view'
  return view && !columns && !within ? { ...look, column_visibility: view.presentation.column_visibility } : look
}

/** lookOf is the initial look of a View: its columns, and the first of its orders if Views can be sorted by it. */
export const lookOf = (view: View, state: SearchState): Look => fromPresentation(tableOf(state), view.presentation)

/** isPresentationChanged reports whether a search in a View differs from it in order or columns. */
export function isPresentationChanged(view: View, state: SearchState): boolean {
  const now = presentationOf(state)
  const before = toPresentation(tableOf(state), lookOf(view, state))
  return JSON.stringify(now) !== JSON.stringify(before)
}
