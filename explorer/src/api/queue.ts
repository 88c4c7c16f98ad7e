import { infiniteQueryOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import type { Records } from '../datasets'
import type { QueueBody } from '../queue/state'
import { runAll } from './batch'
import { answer, api, type Schemas } from './client'
import { Page } from './pages'
import { pageSize, recordQuery } from './queries'

/** How often the bell counts, in milliseconds. The page also counts when it becomes visible. */
const refreshInterval = 5 * 60_000

/** queueCountQuery counts signals of the queue, which is free. An empty body counts unread ones. */
export const queueCountQuery = (workspace: string, body: QueueBody) =>
  queryOptions({
    queryKey: ['queue-count', workspace, body],
    staleTime: 60_000,
    refetchInterval: refreshInterval,
    queryFn: async ({ signal }) => {
      const request = api.POST('/workspace/signal-queue/search', {
        params: { query: { workspace_id: workspace } },
        body: { ...body, dry_run: true } as Schemas['SignalQueueSearchRequest'],
        signal,
      })
      return ((await answer(request)) as Schemas['DryRun']).data.count
    },
  })

/** queueQuery reads pages of the queue, which cost credits, when they are explicitly fetched. */
export const queueQuery = (workspace: string, body: QueueBody) =>
  infiniteQueryOptions({
    queryKey: ['queue', workspace, body],
    staleTime: Infinity,
    gcTime: Infinity,
    enabled: false,
    retry: false,
    structuralSharing: false,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, client }) => {
      const request = api.POST('/workspace/signal-queue/search', {
        params: { query: { workspace_id: workspace } },
        body: {
          ...body,
          limit: pageSize,
          ...(pageParam ? { search_after: pageParam } : {}),
        } as Schemas['SignalQueueSearchRequest'],
      })
      const { data, metadata } = (await answer(request)) as {
        data: Records['signals'][]
        metadata: Schemas['QueueMetadata']
      }
      client.setQueryData(queueCountQuery(workspace, {}).queryKey, metadata.unread)
      // They are paid for: opening one is free.
      for (const row of data) client.setQueryData(recordQuery(workspace, 'signals', row.id).queryKey, row)
      return new Page(data, metadata.search_after ?? undefined)
    },
    getNextPageParam: (page) => page.next,
  })

/** dismiss and restore throw if one of the signals failed. Both are idempotent. */
export const dismiss = (workspace: string, ids: string[]) => runAll(ids, (batch) => send(workspace, 'dismiss', batch))
export const restore = (workspace: string, ids: string[]) => runAll(ids, (batch) => send(workspace, 'restore', batch))

async function send(workspace: string, what: 'dismiss' | 'restore', ids: string[]) {
  const params = { query: { workspace_id: workspace } }
  const request = api.POST(`/workspace/signal-queue/${what}/batch` as '/workspace/signal-queue/dismiss/batch', {
    params,
    body: { ids },
  })
  return (await answer(request)).data.results
}

/** refreshQueueCount refetches the count of the queue. */
export const refreshQueueCount = (client: QueryClient, workspace: string) =>
  client.invalidateQueries({ queryKey: ['queue-count', workspace] })
