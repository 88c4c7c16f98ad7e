import { infiniteQueryOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import type { Book } from './book'
import { answer, api, type Schemas } from './client'
import { all, maxPage } from './lists'
import { changeRows } from './queries'

export type View = Schemas['View']

/** viewDatasets are what Views call the datasets. */
export const viewDatasets: Record<Book, View['dataset']> = {
  projects: 'project',
  accounts: 'account',
  contacts: 'contact',
}

/** datasetOf is the dataset of a View. */
export const datasetOf = (view: View): Book =>
  (Object.keys(viewDatasets) as Book[]).find((b) => viewDatasets[b] === view.dataset) ?? 'projects'

/** Narrowing is which Views a list has. */
export interface Narrowing {
  query?: string
  dataset?: View['dataset']
  view_type?: View['view_type']
}

/** How many Views a page of the list has. */
const pageSize = 50

const viewsKey = (workspace: string) => ['views', workspace]

/** viewsQuery lists Views by name. */
export function viewsQuery(workspace: string, narrowing: Narrowing) {
  return infiniteQueryOptions({
    queryKey: [...viewsKey(workspace), 'list', narrowing],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }) => {
      const query = { workspace_id: workspace, ...narrowing, limit: pageSize, offset: pageParam }
      return (await answer(api.GET('/workspace/views', { params: { query }, signal }))).data.views
    },
    getNextPageParam: (page, pages) => (page.length < pageSize ? undefined : pages.length * pageSize),
  })
}

/** viewQuery reads one View. */
export function viewQuery(workspace: string, id: string) {
  return queryOptions({
    queryKey: [...viewsKey(workspace), 'one', id],
    // Others may change or delete it.
    staleTime: 10_000,
    queryFn: async ({ signal }) => {
      const params = { path: { id }, query: { workspace_id: workspace } }
      return (await answer(api.GET('/workspace/views/{id}', { params, signal }))).data.view
    },
  })
}

/** listsQuery lists the Static Views that a record is in. */
export function listsQuery(workspace: string, dataset: Book, record: string) {
  const which = { dataset: viewDatasets[dataset], view_type: 'static', record_id: record } as const
  return queryOptions({
    queryKey: [...viewsKey(workspace), 'of', which],
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      all(async (offset) => {
        const query = { workspace_id: workspace, ...which, limit: maxPage, offset }
        return (await answer(api.GET('/workspace/views', { params: { query }, signal }))).data.views
      }),
  })
}

/** favoritesQuery lists the user's Favorites in their order. */
export function favoritesQuery(workspace: string) {
  return queryOptions({
    queryKey: [...viewsKey(workspace), 'favorites'],
    queryFn: ({ signal }) =>
      all(async (offset) => {
        const query = { workspace_id: workspace, limit: maxPage, offset }
        return (await answer(api.GET('/workspace/favorite-views', { params: { query }, signal }))).data.views
      }),
  })
}

/** membersQuery names the members by their id. */
export function membersQuery(workspace: string) {
  return queryOptions({
    queryKey: ['member names', workspace],
    staleTime: 300_000,
    queryFn: async ({ signal }) => {
      const members = await all(async (offset) => {
        const query = { workspace_id: workspace, limit: maxPage, offset }
        return (await answer(api.GET('/workspace/members', { params: { query }, signal }))).data.members
      })
      return new Map(members.map((m) => [m.id, m.name || m.email]))
    },
  })
}

/** viewsChanged has everything that shows Views read them again. All of that is free. */
export const viewsChanged = (client: QueryClient, workspace: string) =>
  client.invalidateQueries({ queryKey: viewsKey(workspace) })

/** definitionChanged also forgets the rows of a View, which its former definition found. */
export function definitionChanged(client: QueryClient, view: View) {
  const dataset = datasetOf(view)
  const here = { source: { kind: 'view', id: view.id } }
  client.removeQueries({ queryKey: ['rows', view.workspace_id, dataset, here] })
  void client.invalidateQueries({ queryKey: ['facets', view.workspace_id, dataset, here] })
  return viewsChanged(client, view.workspace_id)
}

/** saveView creates a View, or changes the one with the id. */
export async function saveView(workspace: string, view: Schemas['ViewUpsert']): Promise<View> {
  const request = api.POST('/workspace/views/upsert', { params: { query: { workspace_id: workspace } }, body: view })
  return (await answer(request)).data.view
}

/** createList creates a Static View. */
export const createList = (workspace: string, dataset: Book, name: string) =>
  saveView(workspace, { dataset: viewDatasets[dataset], view_type: 'static', name })

export async function deleteView(workspace: string, id: string): Promise<void> {
  const params = { path: { id }, query: { workspace_id: workspace } }
  await answer(api.DELETE('/workspace/views/{id}', { params }))
}

/** setFavorite adds or removes a Favorite, or moves it to a position. */
export async function setFavorite(workspace: string, id: string, on: boolean, position?: number): Promise<void> {
  const query = { workspace_id: workspace }
  if (!on) {
    await answer(api.DELETE('/workspace/favorite-views/{viewId}', { params: { path: { viewId: id }, query } }))
    return
  }
  const body = { view_id: id, ...(position === undefined ? {} : { position }) }
  await answer(api.POST('/workspace/favorite-views/upsert', { params: { query }, body }))
}

/** addRecords adds up to 100 records to a Static View. One that it has already is added, too. */
export async function addRecords(workspace: string, view: string, ids: string[]) {
  const params = { path: { id: view }, query: { workspace_id: workspace } }
  const body = { inputs: ids.map((record_id) => ({ record_id })) }
  return (await answer(api.POST('/workspace/views/{id}/records/add/batch', { params, body }))).data.results
}

/** removeRecords removes up to 100 records from a Static View. */
export async function removeRecords(workspace: string, view: string, ids: string[]) {
  const params = { path: { id: view }, query: { workspace_id: workspace } }
  return (await answer(api.POST('/workspace/views/{id}/records/delete/batch', { params, body: { ids } }))).data.results
}

/** recordsChanged has what shows a View's records counted anew, and takes removed rows out of its table. */
export function recordsChanged(client: QueryClient, workspace: string, view: View, removed: string[] = []) {
  const dataset = datasetOf(view)
  const here = { source: { kind: 'view', id: view.id } }
  const gone = new Set(removed)
  changeRows(client, ['rows', workspace, dataset, here], (rows) => rows.filter((r) => !gone.has(r.id)))
  void client.invalidateQueries({ queryKey: ['facets', workspace, dataset, here] })
  void viewsChanged(client, workspace)
}
