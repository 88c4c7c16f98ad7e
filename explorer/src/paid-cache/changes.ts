import type { QueryClient } from '@tanstack/react-query'
import { answer, api, RequestError, serverNow, type Schemas } from '../api/client'
import { outdatedQuery, releaseQuery, type Release } from '../api/outdated'
import { datasets, type Dataset } from '../datasets'
import { idsIn, isPaidQuery } from './entries'

/**
 * The maximum number of changes per request, and how long before a row was read its changes
 * count, in milliseconds.
 */
const limit = 1000
const margin = 10_000

/** ChangeCursors are where polling the changes of cached records continues. Reading ids is free. */
export interface ChangeCursors {
  /** The cursor of the next page of each dataset. */
  cursors: Partial<Record<Dataset, string>>
  /** The version of each dataset when it was last polled. */
  versions: Release
}

const paidOf = (client: QueryClient, workspace: string, dataset: Dataset) =>
  client
    .getQueryCache()
    .getAll()
    .filter(
      (q) => isPaidQuery(q) && q.queryKey[1] === workspace && q.queryKey[2] === dataset && q.state.data !== undefined,
    )

/** pollChanges drops cached records that changed since they were read, and marks visible ones. */
export async function pollChanges(client: QueryClient, workspace: string, position: ChangeCursors): Promise<void> {
  const datasetsInUse = datasets.filter((d) => paidOf(client, workspace, d).length > 0)
  if (datasetsInUse.length === 0) return
  const now = await client.fetchQuery({ ...releaseQuery, staleTime: 0 })
  for (const dataset of datasetsInUse) {
    if (position.cursors[dataset] && position.versions[dataset] === now[dataset]) continue
    await pollDataset(client, workspace, dataset, position)
    position.versions[dataset] = now[dataset]
  }
}

async function pollDataset(client: QueryClient, workspace: string, dataset: Dataset, position: ChangeCursors) {
  const first = Math.min(...paidOf(client, workspace, dataset).map((q) => q.state.dataUpdatedAt))
  const read = (body: object) =>
    answer(
      api.POST(`/data/${dataset}/changes` as '/data/projects/changes', {
        params: { query: { workspace_id: workspace } },
        body: body as Schemas['ProjectChangesRequest'],
      }),
    )
  for (let more = true; more;) {
    const cursor = position.cursors[dataset]
    const from = cursor ? { cursor } : { since: new Date(serverNow(first) - margin).toISOString() }
    try {
      const page = await read({ ...from, limit })
      invalidateRecords(client, workspace, dataset, new Set(page.data.map((c) => c.id)))
      position.cursors[dataset] = page.metadata.next
      more = !page.metadata.caught_up
    } catch (error) {
      if (!(error instanceof RequestError && error.code === 'cursor_too_old')) throw error
      // The changes since then are no longer available: anything may have changed.
      invalidateRecords(client, workspace, dataset, new Set(paidOf(client, workspace, dataset).flatMap(idsIn)))
      const { metadata } = await read({})
      position.cursors[dataset] = metadata.next
      more = false
    }
  }
}

/** invalidateRecords drops queries without observers that have one of the records; visible ones are marked. */
export function invalidateRecords(
  client: QueryClient,
  workspace: string,
  dataset: Dataset,
  ids: ReadonlySet<string>,
): void {
  if (ids.size === 0) return
  const has = new Set(
    paidOf(client, workspace, dataset)
      .filter((q) => q.queryKey[0] !== 'book' && idsIn(q).some((id) => ids.has(id)))
      .map((q) => q.queryHash),
  )
  const cache = client.getQueryCache()
  const marked = new Set(client.getQueryData(outdatedQuery(workspace, dataset).queryKey))
  for (const query of cache.getAll()) {
    if (!has.has(query.queryHash)) continue
    if (query.getObserversCount() > 0) idsIn(query).forEach((id) => ids.has(id) && marked.add(id))
    else cache.remove(query)
  }
  client.setQueryData(outdatedQuery(workspace, dataset).queryKey, marked)
}
