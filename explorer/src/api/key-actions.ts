import { infiniteQueryOptions, mutationOptions } from '@tanstack/react-query'
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

/** undoKey lists what an undo of a key would change (a look), or undoes all of its actions. */
export const undoKey = (workspace: string, id: string) =>
  mutationOptions({
    mutationFn: async ({ look }: { look: boolean }) => {
      const outcomes: UndoneAction[] = []
      let cursor: string | undefined
      do {
        const params = { path: { id }, query: query(workspace) }
        const body = { dry_run: look, ...(cursor && { cursor }) }
        const a = await answer(api.POST('/workspace/api-keys/{id}/undo', { params, body }))
        outcomes.push(...a.data.actions)
        cursor = a.metadata.next ?? undefined
      } while (cursor)
      return outcomes
    },
    // Any object may have been undone: Views, boards, the book.
    onSettled: (_data, _error, { look }, _result, { client }) => (look ? undefined : client.invalidateQueries()),
  })
