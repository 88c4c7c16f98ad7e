import { infiniteQueryOptions } from '@tanstack/react-query'
import { answer, api, type Schemas } from './client'

export type AuditEvent = Schemas['AuditEvent']

/** The filter of the audit log; "" matches everything. */
export interface AuditSearch {
  action: string
  person: string
  since: string
  until: string
}

/** The number of events of a page, and of the pages of a download. */
export const eventsShown = 50
export const eventsAtOnce = 200
/** The maximum number of events of a download. */
export const mostDownloaded = 20_000

async function pageOf(
  workspace: string,
  s: AuditSearch,
  cursor: string | undefined,
  limit: number,
  signal?: AbortSignal,
) {
  const query = {
    workspace_id: workspace,
    limit,
    ...(s.action && { action: s.action }),
    ...(s.person && { principal_id: s.person }),
    ...(s.since && { since: s.since }),
    ...(s.until && { until: s.until }),
    ...(cursor && { cursor }),
  }
  const a = await answer(api.GET('/workspace/audit', { params: { query }, signal }))
  return { events: a.data.events, next: a.metadata.next ?? undefined }
}

export const auditQuery = (workspace: string, search: AuditSearch) =>
  infiniteQueryOptions({
    queryKey: ['audit', workspace, search],
    queryFn: ({ pageParam, signal }) => pageOf(workspace, search, pageParam, eventsShown, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
  })

/** eventsOf reads all events of a search, up to mostDownloaded. */
export async function eventsOf(workspace: string, search: AuditSearch): Promise<AuditEvent[]> {
  const found: AuditEvent[] = []
  let cursor: string | undefined
  do {
    const page = await pageOf(workspace, search, cursor, eventsAtOnce)
    found.push(...page.events)
    cursor = page.next
  } while (cursor && found.length < mostDownloaded)
  return found
}
