import { infiniteQueryOptions, mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { runAll } from './batch'
import type { Book } from './book'
import { answer, api, RequestError, type Schemas } from './client'
import { readAll, maxPage } from './lists'
import { changeRows } from './pages'
import type { Source } from '../source'

export type View = Schemas['View']

/** viewDatasets are the names of the datasets in Views. */
export const viewDatasets: Record<Book, View['dataset']> = {
  projects: 'project',
  accounts: 'account',
  contacts: 'contact',
}

/** datasetOf is the dataset of a View. */
export const datasetOf = (view: View): Book =>
  (Object.keys(viewDatasets) as Book[]).find((b) => viewDatasets[b] === view.dataset) ?? 'projects'

/** definitionOf is the definition of a Dynamic View as text. */
export const definitionOf = (view: View): string | undefined =>
  view.view_type === 'dynamic' ? JSON.stringify(view.definition) : undefined

/** sourceOf is the source of a search in a View. */
export function sourceOf(view: View): Source {
  const definition = definitionOf(view)
  return { kind: 'view', id: view.id, ...(definition === undefined ? {} : { definition }) }
}

/** ViewsFilter is the filter of a list of Views. */
export interface ViewsFilter {
  query?: string
  dataset?: View['dataset']
  view_type?: View['view_type']
}

/** How many Views a page of the list has. */
const pageSize = 50

const viewsKey = (workspace: string) => ['views', workspace]

/** viewsQuery lists Views by name. */
export function viewsQuery(workspace: string, filter: ViewsFilter) {
  return infiniteQueryOptions({
    queryKey: [...viewsKey(workspace), 'list', filter],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }) => {
      const query = { workspace_id: workspace, ...filter, limit: pageSize, offset: pageParam }
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
      readAll(async (offset) => {
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
      readAll(async (offset) => {
        const query = { workspace_id: workspace, limit: maxPage, offset }
        return (await answer(api.GET('/workspace/favorite-views', { params: { query }, signal }))).data.views
      }),
  })
}

/** viewsChanged invalidates all queries of Views. Reading them is free. */
export const viewsChanged = (client: QueryClient, workspace: string) =>
  client.invalidateQueries({ queryKey: viewsKey(workspace) })

/** saveView creates a View, or changes the one with the id. */
export async function saveView(workspace: string, view: Schemas['ViewUpsert']): Promise<View> {
  const request = api.POST('/workspace/views/upsert', { params: { query: { workspace_id: workspace } }, body: view })
  return (await answer(request)).data.view
}

/** newList is an empty Static View. */
export const newList = (dataset: Book, name: string): Schemas['CreateStaticView'] => ({
  dataset: viewDatasets[dataset],
  view_type: 'static',
  name,
})

/** saveViewMutation creates or changes a View, and updates the queries. A failed change may conflict with one by others. */
export const saveViewMutation = (workspace: string) =>
  mutationOptions({
    mutationFn: (view: Schemas['ViewUpsert']) => saveView(workspace, view),
    onSettled: (saved, _error, _view, _result, { client }) => {
      if (saved) client.setQueryData(viewQuery(workspace, saved.id).queryKey, saved)
      void viewsChanged(client, workspace)
    },
  })

/** deleteViewMutation deletes a View, and removes it from the queries. A missing one counts as deleted. */
export const deleteViewMutation = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      const params = { path: { id }, query: { workspace_id: workspace } }
      try {
        await answer(api.DELETE('/workspace/views/{id}', { params }))
      } catch (error) {
        if (!(error instanceof RequestError && error.code === 'view_not_found')) throw error
      }
    },
    onSettled: (_data, _error, _id, _result, { client }) => {
      void viewsChanged(client, workspace)
    },
  })

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

/** addRecords adds up to 100 records to a Static View. It also succeeds for existing ones. */
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

/**
 * updateViewRecords invalidates the counts of a View's records, and removes deleted rows from its
 * table. It returns a function that restores them.
 */
export function updateViewRecords(client: QueryClient, view: View, removed: string[] = []): () => void {
  const dataset = datasetOf(view)
  const here = { source: { kind: 'view', id: view.id } }
  const gone = new Set(removed)
  void client.invalidateQueries({ queryKey: ['facets', view.workspace_id, dataset, here] })
  void viewsChanged(client, view.workspace_id)
  return gone.size > 0
    ? changeRows(client, ['rows', view.workspace_id, dataset, here], (rows) => rows.filter((r) => !gone.has(r.id)))
    : () => undefined
}

/** undoRemoveRecords reverts a removal of records; it throws unless all are back in the View. */
export const undoRemoveRecords = (client: QueryClient, view: View, ids: string[]) =>
  runAll(ids, (some) => addRecords(view.workspace_id, view.id, some)).finally(() => updateViewRecords(client, view))

/** undoAddRecords reverts an addition of records; it throws unless all are out of the View. */
export const undoAddRecords = (client: QueryClient, view: View, ids: string[]) =>
  runAll(ids, (some) => removeRecords(view.workspace_id, view.id, some)).then(
    () => updateViewRecords(client, view, ids),
    (error: unknown) => {
      updateViewRecords(client, view)
      throw error
    },
  )
