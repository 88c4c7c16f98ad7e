import { useMutationState, type Mutation, type QueryClient } from '@tanstack/react-query'
import { Conflict, editsKey, type Change, type Saved } from '../api/book'

// An edit that is not saved stays in the cache of mutations, wherever the drawer has gone.

export type Edit = Mutation<Saved, Error, Change>

/** useUnsaved returns the edits that are not saved, of one record or of all. */
export function useUnsaved(...of: Parameters<typeof editsKey>): Edit[] {
  return useMutationState({
    filters: { mutationKey: editsKey(...of), status: 'error' },
    select: (mutation) => mutation as Mutation as Edit,
  })
}

/** again saves an edit once more. */
export function again(edit: Edit): void {
  // Its error is in the cache.
  if (edit.state.variables) edit.execute(edit.state.variables).catch(() => undefined)
}

/** drop gives an edit up. */
export const drop = (client: QueryClient, edit: Edit) => client.getMutationCache().remove(edit)

/** typedIn is what stays in the fields: of a conflict one is asked. */
export const typedIn = ({ state: { error, variables } }: Edit) => (error instanceof Conflict ? null : variables?.next)
