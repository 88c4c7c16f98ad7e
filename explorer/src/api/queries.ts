import {
  infiniteQueryOptions,
  keepPreviousData,
  mutationOptions,
  queryOptions,
  type InfiniteData,
  type QueryClient,
} from '@tanstack/react-query'
import type { AnyRecord, Dataset } from '../datasets'
import type { Body } from './body'
import { requestUser, answer, api, RequestError, type Schemas } from './client'
import { countable, isCountable } from './countable'
import { outdatedQuery, releaseQuery } from './outdated'
import { changeRows, Page } from './pages'
import { includes, cacheIncluded } from './related'
import { currentUser, signInOptions, type User } from './session'
import { routeOf, type Source } from '../source'
import { columnsOf, tableOf } from '../table/fields'
import { definitionOf, viewQuery } from './views'

export const pageSize = 25

/** Measure is a statistic of a number in a facet, beside the counts. */
export interface Measure {
  field: string
  of: 'sum' | 'avg' | 'min' | 'max'
}

export type FacetRequest = (
  | { field: string; limit?: number; prefix?: string }
  | { field: string; interval: 'year' | 'quarter' | 'month' | 'week' | 'day' }
  | { field: string; ranges: [number | null, number | null][] }
  | { field: string; buckets: number }
  | { geo: { precision: number } }
) & { measure?: Measure; exclude_own?: boolean }

/** FieldFacet counts by a field. */
export type FieldFacet = FacetRequest & { field: string }

const forever = { staleTime: Infinity, gcTime: Infinity }

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: currentUser,
  staleTime: Infinity,
  // Another tab may have signed out, or signed in somebody else.
  refetchOnWindowFocus: 'always',
  retry: 1,
})

/** handleSessionEnd shows that the session has ended, or who is signed in now. */
export function handleSessionEnd(client: QueryClient): void {
  const user = client.getQueryData(sessionQuery.queryKey)
  // The page already shows that somebody else is signed in: all its requests are refused.
  if (!user || user.id !== (requestUser() ?? user.id)) return
  client.setQueryData(sessionQuery.queryKey, null)
  const show = (now: User | null) => {
    if (now && now.id !== user.id) client.setQueryData(sessionQuery.queryKey, now)
  }
  currentUser().then(show, () => undefined)
}

/** signInQuery reads where to sign in. */
export const signInQuery = queryOptions({
  queryKey: ['sign-in'],
  queryFn: signInOptions,
  staleTime: Infinity,
  retry: 1,
})

/** workspaceQuery reads the user's only workspace, or the one that the address names. */
export const workspaceQuery = queryOptions({
  queryKey: ['workspace'],
  staleTime: Infinity,
  queryFn: async () => (await answer(api.GET('/workspace'))).data,
})

export const creditsQuery = queryOptions({
  queryKey: ['credits'],
  staleTime: 60_000,
  queryFn: async () => (await answer(api.GET('/workspace/credits'))).data,
})

/** descriptorsQuery reads the searchable fields; they change only with the version of the service. */
export const descriptorsQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['descriptors', workspace],
    ...forever,
    queryFn: async () => {
      const request = api.POST('/data/fields/search', { params: { query: { workspace_id: workspace } }, body: {} })
      return (await answer(request)).data
    },
  })

export type Descriptor = Schemas['Descriptor']

// The routes of the four datasets have the same form. The types of one of them stand for all, and
// only these three functions know.

/** The delay before counts are retried after a temporary failure, in milliseconds. */
const retryDelay = 5000

/** retryInterval is the refetch interval after a temporary failure: of the network, or of a busy service. */
export function retryInterval({ state: { error } }: { state: { error: Error | null } }): number | false {
  const passes =
    error instanceof RequestError && (error.status === 0 || error.status === 503 || error.code === 'too_many_requests')
  return passes ? retryDelay : false
}

/** facetsQuery counts, which is free. The previous counts stay until the new ones are loaded. */
export function facetsQuery(workspace: string, dataset: Dataset, body: Body, facets: FacetRequest[]) {
  const { source, ...conditions } = countable(body)
  return queryOptions({
    queryKey: ['facets', workspace, dataset, body, facets],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    refetchInterval: retryInterval,
    queryFn: async ({ signal }) => {
      const request = api.POST(`${routeOf(dataset, source)}/facets` as '/data/projects/facets', {
        params: { query: { workspace_id: workspace } },
        body: { ...conditions, facets } as Schemas['ProjectFacetRequest'],
        signal,
      })
      const { data, metadata } = await answer(request)
      return { ...data, didYouMean: metadata.did_you_mean, missing: metadata.missing, atMost: !isCountable(body) }
    },
  })
}

/** PivotBy is the rows or the columns of a pivot. */
export type PivotBy = { field: string; limit: number } | { field: string; interval: 'year' | 'quarter' | 'month' }

/** The statistic of a number in each cell of a pivot. */
export interface PivotMeasure {
  field: string
  of: 'sum' | 'average' | 'min' | 'max' | 'median'
}

/** pivotQuery counts by one field or two, which is free. */
export function pivotQuery(
  workspace: string,
  dataset: Dataset,
  body: Body,
  rows: PivotBy,
  columns: PivotBy | undefined,
  measure: PivotMeasure | undefined,
) {
  const { source, ...conditions } = countable(body)
  return queryOptions({
    queryKey: ['pivot', workspace, dataset, body, rows, columns, measure],
    staleTime: 60_000,
    refetchInterval: retryInterval,
    queryFn: async ({ signal }) => {
      const request = api.POST(`${routeOf(dataset, source)}/pivot` as '/data/projects/pivot', {
        params: { query: { workspace_id: workspace } },
        body: {
          ...conditions,
          rows,
          ...(columns ? { columns } : {}),
          ...(measure ? { measure } : {}),
        } as Schemas['ProjectPivotRequest'],
        signal,
      })
      return (await answer(request)).data
    },
  })
}

/** Counts is the answer of a request for facets. */
export type Counts = Schemas['FacetCounts'] & {
  /** A similar query that finds records, if nothing matches. */
  didYouMean: string | undefined
  /** The words that no record has in any form, if nothing matches. */
  missing: string[] | undefined
  /** The search may find less: it has conditions on e-mail addresses, which are not counted. */
  atMost: boolean
}

/**
 * suggestQuery completes the typed text, among the records that match the filters. It is free;
 * when the limit for free operations is reached, there are no suggestions.
 */
export function suggestQuery(workspace: string, dataset: Dataset, prefix: string | undefined, body: Body) {
  const { source, filters } = countable(body)
  return queryOptions({
    queryKey: ['suggest', workspace, dataset, prefix, filters],
    staleTime: 60_000,
    // Only Data has suggestions.
    enabled: prefix !== undefined && !source,
    retry: false,
    queryFn: async ({ signal }) => {
      const request = api.POST(`/data/${dataset}/suggest` as '/data/projects/suggest', {
        params: { query: { workspace_id: workspace } },
        body: { prefix, limit: 8, ...(filters ? { filters } : {}) } as Schemas['ProjectSuggestRequest'],
        signal,
      })
      return (await answer(request)).data.suggestions
    },
  })
}

const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** readingQuery converts a question in natural language into conditions, which is free. A View is read as Data. */
export function readingQuery(workspace: string, dataset: Dataset, source: Source | undefined, question: string) {
  const route = routeOf(dataset, source?.kind === 'book' ? source : undefined)
  return queryOptions({
    queryKey: ['read', workspace, route, question],
    staleTime: 60_000,
    enabled: question !== '',
    queryFn: async ({ signal }) => {
      const request = api.POST(`${route}/read` as '/data/projects/read', {
        params: { query: { workspace_id: workspace } },
        body: { query: question, time_zone: timeZone },
        signal,
      })
      return (await answer(request)).data
    },
  })
}

export type Reading = Schemas['Reading']

export type Sort = { field: string; order: 'asc' | 'desc' }

/**
 * rowsQuery reads pages of rows, which cost credits. It runs only when a page is explicitly
 * fetched, and the pages stay cached: returning to a search refetches nothing.
 */
export function rowsQuery(workspace: string, dataset: Dataset, body: Body, sort: Sort | undefined, size = pageSize) {
  const { source, ...conditions } = body
  return infiniteQueryOptions({
    queryKey: ['rows', workspace, dataset, body, sort, ...(size === pageSize ? [] : [size])],
    ...forever,
    enabled: false,
    retry: false,
    // Loaded pages are immutable, and not plain objects.
    structuralSharing: false,
    initialPageParam: undefined as string | undefined,
    // A charged request is not cancelled when the user navigates: no signal.
    queryFn: async ({ pageParam, client }) => {
      await assertUnchanged(client, workspace, source)
      const request = api.POST(`${routeOf(dataset, source)}/search` as '/data/projects/search', {
        params: { query: { workspace_id: workspace } },
        body: {
          ...conditions,
          ...(conditions.query ? { highlight: true } : {}),
          limit: size,
          // Rows of a book or a View have fewer members unless more are requested.
          ...(source ? { fields: columnsOf(tableOf({ dataset, source })) } : {}),
          ...(sort ? { sort } : {}),
          ...(pageParam ? { search_after: pageParam } : {}),
        } as Schemas['ProjectSearchRequest'],
      })
      const page = (await answer(request)) as {
        // Those of a View stand beside its dataset.
        data: AnyRecord[] | { records: AnyRecord[] }
        metadata: Schemas['PageMetadata']
      }
      const rows = Array.isArray(page.data) ? page.data : page.data.records
      const release = client.getQueryData(releaseQuery.queryKey)?.[dataset]
      return new Page(rows, page.metadata.search_after ?? undefined, page.metadata.highlights, {
        at: Date.now(),
        release,
      })
    },
    getNextPageParam: (page) => page.next,
  })
}

/** ViewChanged means that the definition of a View has changed. */
export class ViewChanged extends Error {
  constructor() {
    super('Somebody has changed this View')
  }
}

/**
 * assertUnchanged refetches the View, which is free, so that nobody pays for rows of a
 * definition they have not seen.
 */
export async function assertUnchanged(client: QueryClient, workspace: string, source: Source | undefined) {
  if (source?.kind !== 'view' || source.definition === undefined) return
  const view = await client.fetchQuery({ ...viewQuery(workspace, source.id), staleTime: 0 })
  if (definitionOf(view) !== source.definition) throw new ViewChanged()
}

/**
 * recordQuery reads one record for a credit, with related records at no extra cost. A loaded row
 * need not be read.
 */
export function recordQuery(workspace: string, dataset: Dataset, id: string) {
  return queryOptions({
    queryKey: ['record', workspace, dataset, id],
    ...forever,
    retry: false,
    queryFn: async ({ client }) => {
      const include = includes[dataset].join(',') as never
      const request = api.GET(`/data/${dataset}/{id}` as '/data/projects/{id}', {
        params: { path: { id }, query: { workspace_id: workspace, include } },
      })
      return cacheIncluded(client, workspace, dataset, (await answer(request)).data as AnyRecord)
    },
  })
}

/** findRow finds a loaded row: of Data complete, of the book and of Views with their members. */
export function findRow(
  client: QueryClient,
  workspace: string,
  dataset: Dataset,
  id: string,
  wants: (source: Source | undefined) => boolean,
): AnyRecord | undefined {
  for (const query of client.getQueryCache().findAll({ queryKey: ['rows', workspace, dataset] })) {
    if (!wants((query.queryKey[3] as Body).source)) continue
    const data = query.state.data as InfiniteData<Page> | undefined
    const page = data?.pages.find((p) => p.ids.includes(id))
    if (page) return page.rows.find((r) => r.id === id)
  }
  return undefined
}

/** findLoaded finds a complete record among everything loaded, so that nothing is paid for twice. */
export function findLoaded(
  client: QueryClient,
  workspace: string,
  dataset: Dataset,
  id: string,
): AnyRecord | undefined {
  const row = findRow(client, workspace, dataset, id, (source) => !source)
  if (row) return row
  const one = client.getQueryData(recordQuery(workspace, dataset, id).queryKey)
  if (one) return one
  for (const query of client.getQueryCache().findAll({ queryKey: ['batch', workspace, dataset] })) {
    const found = (query.state.data as AnyRecord[] | undefined)?.find((r) => r.id === id)
    if (found) return found
  }
  return undefined
}

/** reloadRecords reloads up to 100 changed records, and removes deleted ones from the rows. */
export const reloadRecords = (client: QueryClient, workspace: string, dataset: Dataset) =>
  mutationOptions({
    mutationFn: (ids: string[]) => readBatch(workspace, dataset, ids),
    onSuccess: (found, ids) => {
      const now = new Map(found.map((r) => [r.id, r]))
      const requestedIds = new Set(ids)
      changeRows(client, ['rows', workspace, dataset], (rows) =>
        rows.flatMap((r) => (requestedIds.has(r.id) && !('workspace_status' in r) ? (now.get(r.id) ?? []) : [r])),
      )
      const { queryKey } = outdatedQuery(workspace, dataset)
      client.setQueryData(queryKey, (before) => new Set([...(before ?? [])].filter((id) => !requestedIds.has(id))))
    },
  })

async function readBatch(workspace: string, dataset: Dataset, ids: string[]): Promise<AnyRecord[]> {
  const request = api.POST(`/data/${dataset}/get/batch` as '/data/projects/get/batch', {
    params: { query: { workspace_id: workspace } },
    body: { ids },
  })
  return (await answer(request)).data.results.flatMap(({ data }) => (data ? [data as AnyRecord] : []))
}

/** batchQuery reads records by id, for a credit each unless it is loaded. Deleted ones are left out. */
export function batchQuery(workspace: string, dataset: Dataset, ids: string[]) {
  return queryOptions({
    queryKey: ['batch', workspace, dataset, ids],
    ...forever,
    enabled: false,
    retry: false,
    queryFn: async ({ client }) => {
      const found = ids.map((id) => findLoaded(client, workspace, dataset, id))
      const missing = ids.filter((_, i) => !found[i])
      if (missing.length > 0) {
        for (const record of await readBatch(workspace, dataset, missing)) found[ids.indexOf(record.id)] = record
      }
      return found.filter((r) => r !== undefined)
    },
  })
}
