import { mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'
import { formatMoment } from '../format'
import { readAll, maxPage } from './lists'
import type { View } from './views'

export type Alert = Schemas['Alert']
export type AlertEntry = Schemas['AlertEntry']

/** How often new entries are counted, in milliseconds. */
const often = 5 * 60_000

const alertsKey = (workspace: string) => ['alerts', workspace]

/** alertsQuery lists the user's alerts. All requests about alerts are free. */
export const alertsQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...alertsKey(workspace), 'all'],
    staleTime: 60_000,
    refetchInterval: often,
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const query = { workspace_id: workspace, limit: maxPage, offset }
        return (await answer(api.GET('/workspace/alerts', { params: { query }, signal }))).data.alerts
      }),
  })

/** alertQuery is the user's alert on a View, undefined if there is none. */
export const alertQuery = (workspace: string, view: string | undefined) => ({
  ...alertsQuery(workspace),
  select: (all: Alert[]) => all.find((a) => a.view_id === view),
})

/** unseenQuery lists the alerts' entries since the user last looked, the latest first: of one View, or of all. */
export const unseenQuery = (workspace: string, view?: string) =>
  queryOptions({
    queryKey: [...alertsKey(workspace), 'unseen', view],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const query = { workspace_id: workspace, limit: maxPage, offset: 0, ...(view ? { view_id: view } : {}) }
      const { data } = await answer(api.GET('/workspace/alerts/entries', { params: { query }, signal }))
      return data.entries.filter((e) => !e.seen)
    },
  })

const alertsChanged = (client: QueryClient, workspace: string) =>
  client.invalidateQueries({ queryKey: alertsKey(workspace) })

/** setAlertMutation switches the alert on a View on or off, or sets how often it is mailed. */
export const setAlertMutation = (workspace: string, view: string) =>
  mutationOptions({
    mutationFn: async (to: boolean | { email: Alert['email'] }) => {
      const query = { workspace_id: workspace }
      const body = { view_id: view, ...(to === true ? {} : to) }
      await (to
        ? answer(api.POST('/workspace/alerts/upsert', { params: { query }, body }))
        : answer(api.DELETE('/workspace/alerts/{viewId}', { params: { path: { viewId: view }, query } })))
    },
    onSettled: (_data, _error, _to, _result, { client }) => alertsChanged(client, workspace),
  })

/** markSeenMutation marks the entries of a View as seen, up to a number or all, and its rest too. */
export const markSeenMutation = (workspace: string, view: string) =>
  mutationOptions({
    mutationFn: async (through?: number) => {
      const params = { path: { id: view }, query: { workspace_id: workspace } }
      await answer(api.POST('/workspace/views/{id}/seen', { params, body: through === undefined ? {} : { through } }))
    },
    onSettled: (_data, _error, _through, _result, { client }) => alertsChanged(client, workspace),
  })

/** canWatch reports whether a View can have an alert. */
export const canWatch = (view: View): boolean => view.view_type === 'dynamic'

const whyItRests = {
  too_many_matches: 'more than 100,000 records match. Narrow its conditions',
  definition_refused: 'its conditions cannot be compared with what changes. Change them',
}

/** restText explains since when and why an alert or a webhook gets nothing, and what to do; '' unless it rests. */
export const restText = (rest: Alert['rest'], beginning = 'The alert has rested'): string =>
  rest ? `${beginning} since ${formatMoment(new Date(rest.since))}, because ${whyItRests[rest.reason]}.` : ''
