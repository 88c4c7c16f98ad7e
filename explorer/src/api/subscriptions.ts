import { mutationOptions, queryOptions } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'

export type Subscription = Schemas['SignalSubscription']
export type Delivery = Subscription['delivery']

export const subscriptionsQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['subscriptions', workspace],
    queryFn: async ({ signal }) => {
      const params = { query: { workspace_id: workspace } }
      return (await answer(api.GET('/workspace/signal-subscriptions', { params, signal }))).data.subscriptions
    },
  })

/** subscribe sets how signals of a type are delivered; null ends the subscription. */
export const subscribe = (workspace: string) =>
  mutationOptions({
    mutationFn: async ({ type, id, delivery }: { type: string; id?: string; delivery: Delivery | null }) => {
      const query = { workspace_id: workspace }
      if (delivery) {
        const body = { signal_type: type as Subscription['signal_type'], delivery }
        await answer(api.POST('/workspace/signal-subscriptions/upsert', { params: { query }, body }))
      } else if (id) {
        await answer(api.DELETE('/workspace/signal-subscriptions/{id}', { params: { path: { id }, query } }))
      }
    },
    onSettled: (_data, _error, _input, _result, { client }) =>
      client.invalidateQueries({ queryKey: subscriptionsQuery(workspace).queryKey }),
  })
