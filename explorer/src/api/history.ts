import { queryOptions } from '@tanstack/react-query'
import type { Dataset } from '../datasets'
import type { Book } from './book'
import { answer, api, type Schemas } from './client'

export type RecordChange = Schemas['ProjectChange']
export type WorkspaceChange = Schemas['WorkspaceChange']

/** historyLength is how many changes of a record are read at most, of the data and of the workspace each. */
export const historyLength = 100

/** recordHistoryQuery reads the changes of a global record, the latest first, which is free. */
export const recordHistoryQuery = (workspace: string, dataset: Dataset, id: string) =>
  queryOptions({
    queryKey: ['history', workspace, dataset, id],
    queryFn: async ({ signal }) => {
      const params = { query: { workspace_id: workspace } }
      const body = { history: id, limit: historyLength }
      const { data, metadata } = await answer(api.POST(`/data/${dataset}/changes`, { params, body, signal }))
      return { changes: data as Omit<RecordChange, 'record'>[], all: metadata.caught_up }
    },
  })

/** ownHistoryQuery reads the workspace's changes of a record, the latest first, which is free. */
export const ownHistoryQuery = (workspace: string, book: Book, id: string) =>
  queryOptions({
    queryKey: ['own history', workspace, book, id],
    queryFn: async ({ signal }) => {
      const path = `/workspace/${book}/{id}/history` as '/workspace/accounts/{id}/history'
      const params = { path: { id }, query: { workspace_id: workspace, limit: historyLength } }
      const { changes } = (await answer(api.GET(path, { params, signal }))).data
      return { changes, all: changes.length < historyLength }
    },
  })
