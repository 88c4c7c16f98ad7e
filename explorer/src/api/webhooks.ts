import { mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'
import { readAll, maxPage } from './lists'

export type Webhook = Schemas['Webhook']
export type WebhookEvent = Schemas['WebhookEvent']
export type Delivery = Schemas['WebhookDelivery']

const query = (workspace: string) => ({ workspace_id: workspace })
const key = (workspace: string) => ['webhooks', workspace]

export const webhooksQuery = (workspace: string) =>
  queryOptions({
    queryKey: key(workspace),
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const params = { query: { ...query(workspace), limit: maxPage, offset } }
        return (await answer(api.GET('/workspace/webhooks', { params, signal }))).data.webhooks
      }),
  })

/** deliveriesShown is how many deliveries the log shows. */
export const deliveriesShown = 50

/** deliveriesQuery reads the end of a webhook's log, repeatedly while a delivery is pending. */
export const deliveriesQuery = (workspace: string, id: string) =>
  queryOptions({
    queryKey: [...key(workspace), id, 'deliveries'],
    queryFn: async ({ signal }) => {
      const params = { path: { id }, query: { ...query(workspace), limit: deliveriesShown } }
      return (await answer(api.GET('/workspace/webhooks/{id}/deliveries', { params, signal }))).data.deliveries
    },
    refetchInterval: ({ state }) => (state.data?.some((d) => d.status === 'pending') ? 3000 : false),
  })

const invalidate = (client: QueryClient, workspace: string) => client.invalidateQueries({ queryKey: key(workspace) })

interface Saved {
  id?: string
  url: string
  events: WebhookEvent[]
  /** The Views of view.matched; absent: unchanged. */
  view_ids?: string[]
}

/** saveWebhook creates a webhook, or changes and enables one. Only this answer has the secret of a new one. */
export const saveWebhook = (workspace: string) =>
  mutationOptions({
    // The secret is not cached.
    gcTime: 0,
    mutationFn: async (body: Saved) =>
      (await answer(api.POST('/workspace/webhooks/upsert', { params: { query: query(workspace) }, body }))).data
        .webhook,
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

export const rotateWebhook = (workspace: string) =>
  mutationOptions({
    gcTime: 0,
    mutationFn: async (id: string) => {
      const params = { path: { id }, query: query(workspace) }
      return (await answer(api.POST('/workspace/webhooks/{id}/rotate', { params }))).data.webhook
    },
  })

export const removeWebhook = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      await answer(api.DELETE('/workspace/webhooks/{id}', { params: { path: { id }, query: query(workspace) } }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

export const testWebhook = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      await answer(api.POST('/workspace/webhooks/{id}/test', { params: { path: { id }, query: query(workspace) } }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })

export const replayDelivery = (workspace: string) =>
  mutationOptions({
    mutationFn: async ({ id, deliveryId }: { id: string; deliveryId: string }) => {
      const params = { path: { id, deliveryId }, query: query(workspace) }
      await answer(api.POST('/workspace/webhooks/{id}/deliveries/{deliveryId}/replay', { params }))
    },
    onSettled: (_data, _error, _input, _result, { client }) => invalidate(client, workspace),
  })
