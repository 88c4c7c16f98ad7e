import { infiniteQueryOptions, mutationOptions, type Query, type QueryClient } from '@tanstack/react-query'
import type { Body } from './body'
import { answer, api, type Schemas } from './client'

export type KeyAction = Schemas['ApiKeyAction']
export type UndoneAction = Schemas['ApiKeyActionOutcome']

const query = (workspace: string) => ({ workspace_id: workspace })
const key = (workspace: string, id: string) => ['key-actions', workspace, id]

/** The number of actions of a page. */
export const actionsShown = 50

/** keyActionsQuery is what a key changed, the latest first. */
export const keyActionsQuery = (workspace: string, id: string) =>
  infiniteQueryOptions({
    queryKey: key(workspace, id),
    queryFn: async ({ pageParam, signal }) => {
      const params = {
        path: { id },
        query: { ...query(workspace), limit: actionsShown, ...(pageParam && { cursor: pageParam }) },
      }
      const a = await answer(api.GET('/workspace/api-keys/{id}/actions', { params, signal }))
      return { actions: a.data.actions, next: a.metadata.next ?? undefined }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
  })

/** undoKey lists what an undo of a key would change (a dry run), or undoes all of its actions. */
export const undoKey = (workspace: string, id: string) =>
  mutationOptions({
    mutationFn: async ({ dryRun }: { dryRun: boolean }) => {
      const outcomes: UndoneAction[] = []
      let cursor: string | undefined
      do {
        const params = { path: { id }, query: query(workspace) }
        const body = { dry_run: dryRun, ...(cursor && { cursor }) }
        const a = await answer(api.POST('/workspace/api-keys/{id}/undo', { params, body }))
        outcomes.push(...a.data.actions)
        cursor = a.metadata.next ?? undefined
      } while (cursor)
      return outcomes
    },
    // Any object may have been undone: Views, boards, the book.
    onSettled: (outcomes, _error, { dryRun }, _result, { client }) => {
      if (dryRun) return undefined
      dropUndoneRows(client, workspace, outcomes)
      return client.invalidateQueries()
    },
  })

/**
 * dropUndoneRows drops loaded rows of books and lists that an undo may have changed: their previous
 * values are not in its answer. Visible ones are offered at their price. Without an answer any may
 * have changed.
 */
function dropUndoneRows(client: QueryClient, workspace: string, outcomes: UndoneAction[] | undefined): void {
  const undone = outcomes?.filter((a) => a.outcome === 'undone')
  const isStale = ({ queryKey: [kind, of, dataset, which] }: Query) => {
    if (of !== workspace) return false
    const inBook = !undone || undone.some((a) => a.kind === 'overlay' && a.dataset === dataset)
    if (kind === 'book') return inBook
    const source = kind === 'rows' ? (which as Body).source : undefined
    if (!source) return false
    return inBook || (source.kind === 'view' && undone.some((a) => a.view_id === source.id))
  }
  const cache = client.getQueryCache()
  for (const query of cache.getAll().filter(isStale)) {
    if (query.getObserversCount() > 0) query.reset()
    else cache.remove(query)
  }
}
