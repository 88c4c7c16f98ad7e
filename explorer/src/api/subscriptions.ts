import { mutationOptions, queryOptions } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'
import { refreshQueueCount } from './queue'

type Subscription = Schemas['SignalSubscription']
export type Delivery = Subscription['delivery']

const read = async (workspace: string, signal?: AbortSignal) => {
  const params = { query: { workspace_id: workspace } }
  return (await answer(api.GET('/workspace/signal-subscriptions', { params, ...(signal ? { signal } : {}) }))).data
    .subscriptions
}

export const subscriptionsQuery = (workspace: string) =>
  queryOptions({ queryKey: ['subscriptions', workspace], queryFn: ({ signal }) => read(workspace, signal) })

/** Change is a change of how signals of a type are delivered. */
export interface Change {
  type: string
  label: string
  /** The new delivery; null ends the subscription. It must be idempotent. */
  next: (now: Delivery | null) => Delivery | null
}

/** deliveryOf is how signals of a type are delivered, null without a subscription. */
export const deliveryOf = (subscriptions: Subscription[], type: string): Delivery | null =>
  subscriptions.find((s) => s.signal_type === type)?.delivery ?? null

/**
 * subscribe makes a change and returns the previous delivery. Changes are serialized, each based on
 * the service's current state.
 */
export const subscribe = (workspace: string) =>
  mutationOptions({
    mutationKey: ['subscribe', workspace],
    scope: { id: `subscribe ${workspace}` },
    mutationFn: async ({ type, next }: Change) => {
      const query = { workspace_id: workspace }
      const mine = (await read(workspace)).find((s) => s.signal_type === type)
      const before = mine?.delivery ?? null
      const delivery = next(before)
      if (delivery) {
        const body = { signal_type: type as Subscription['signal_type'], delivery }
        await answer(api.POST('/workspace/signal-subscriptions/upsert', { params: { query }, body }))
      } else if (mine) {
        await answer(api.DELETE('/workspace/signal-subscriptions/{id}', { params: { path: { id: mine.id }, query } }))
      }
      return before
    },
    onSettled: (_data, _error, _input, _result, { client }) => {
      // The content of the queue has changed.
      client.removeQueries({ queryKey: ['queue', workspace] })
      void refreshQueueCount(client, workspace)
      return client.invalidateQueries({ queryKey: subscriptionsQuery(workspace).queryKey })
    },
  })
