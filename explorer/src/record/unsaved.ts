import { useMutationState, type Mutation, type QueryClient } from '@tanstack/react-query'
import { Conflict, editsKey, type Change, type Saved } from '../api/book'

// An unsaved edit stays in the cache of mutations, whatever the drawer shows.

export type Edit = Mutation<Saved, Error, Change>

/** useUnsaved returns the unsaved edits, of one record or of all. */
export function useUnsaved(...of: Parameters<typeof editsKey>): Edit[] {
  return useMutationState({
    filters: { mutationKey: editsKey(...of), status: 'error' },
    select: (mutation) => mutation as Mutation as Edit,
  })
}

/** retry retries an edit. */
export function retry(edit: Edit): void {
  // Its error is in the cache.
  if (edit.state.variables) edit.execute(edit.state.variables).catch(() => undefined)
}

/** discard discards an edit. */
export const discard = (client: QueryClient, edit: Edit) => client.getMutationCache().remove(edit)

/** unsavedValuesOf is the text that stays in the fields; for a conflict the user is asked. */
export const unsavedValuesOf = ({ state: { error, variables } }: Edit) =>
  error instanceof Conflict ? null : variables?.next
