import type { InfiniteData, Query, QueryClient, QueryKey } from '@tanstack/react-query'
import { DerivedPage, Page, type Packed } from '../api/pages'
import type { AnyRecord } from '../datasets'

// Paid data is in the cache of queries, in memory only.

/** Key prefixes of paid data: pages of rows, records, and annotations of one. */
const kinds = new Set<unknown>(['rows', 'record', 'batch', 'book'])

/** The maximum number of cached rows beside the visible ones. */
export const maxRows = 10_000

export const isPaidQuery = ({ queryKey: [kind] }: { queryKey: QueryKey }) => kinds.has(kind)

export type Loaded = InfiniteData<Page>

/** idsIn are the ids of the records that a query has. */
export function idsIn({ queryKey, state: { data } }: Pick<Query, 'queryKey' | 'state'>): readonly string[] {
  if (data === undefined || data === null) return []
  switch (queryKey[0]) {
    case 'rows':
      return (data as Loaded).pages.flatMap((p) => p.ids)
    case 'batch':
      return (data as AnyRecord[]).map((r) => r.id)
    case 'record':
      return [String(queryKey[3])]
  }
  return []
}

/** trim drops queries without observers, the oldest first, until the maximum number of rows is not exceeded. */
export function trim(client: QueryClient, limit = maxRows): void {
  const cache = client.getQueryCache()
  const paid = cache.getAll().filter((q) => isPaidQuery(q) && q.state.data !== undefined)
  let rows = paid.reduce((sum, q) => sum + idsIn(q).length, 0)
  const idle = paid
    .filter((q) => q.getObserversCount() === 0)
    .sort((a, b) => a.state.dataUpdatedAt - b.state.dataUpdatedAt)
  for (const query of idle) {
    if (rows <= limit) return
    rows -= idsIn(query).length
    cache.remove(query)
  }
}

/** evict drops paid data without observers, of a workspace or of all. */
export function evict(client: QueryClient, which: (key: QueryKey) => boolean = () => true): void {
  const cache = client.getQueryCache()
  for (const query of cache.getAll()) {
    if (isPaidQuery(query) && which(query.queryKey) && query.getObserversCount() === 0) cache.remove(query)
  }
}

/** Entry is a message about a query from one tab to another. */
export interface Entry {
  key: QueryKey
  /** When it was read, in milliseconds. */
  at: number
  data?: unknown
  pages?: { pages: Packed[]; params: unknown[] }
}

/** entryOf is a query as a message; undefined if it has no data of its own. */
export function entryOf({ queryKey: key, state }: Pick<Query, 'queryKey' | 'state'>): Entry | undefined {
  const { data, dataUpdatedAt: at } = state
  if (data === undefined) return undefined
  if (key[0] !== 'rows') return { key, at, data }
  const { pages, pageParams } = data as Loaded
  if (pages.some((p) => p instanceof DerivedPage)) return undefined
  return { key, at, pages: { pages: pages.map((p) => p.packed()), params: pageParams } }
}

/** receive caches what another tab has read, unless this one has read it later. It reports whether it did. */
export function receive(client: QueryClient, { key, at, data, pages }: Entry): boolean {
  const now = client.getQueryState(key)
  if (now?.data !== undefined && now.dataUpdatedAt >= at) return false
  const value = pages ? { pages: pages.pages.map((p) => Page.of(p)), pageParams: pages.params } : data
  // It is cached as long as what this tab reads.
  client.getQueryCache().build(client, { queryKey: key, gcTime: Infinity })
  client.setQueryData(key, value, { updatedAt: at })
  return true
}
