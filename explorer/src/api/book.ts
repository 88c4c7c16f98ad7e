import { mutationOptions, queryOptions } from '@tanstack/react-query'
import { answer, api, RequestError, type Schemas } from './client'

/** Books are the datasets whose records a workspace can save. */
export const books = ['projects', 'accounts', 'contacts'] as const
export type Book = (typeof books)[number]

/** Annotations are what the workspace says of a record of its book. */
export interface Annotations {
  workspace_status: string | null
  tags: string[]
  notes: string | null
  /** Of firms only. */
  icp_tier?: Schemas['IcpTier'] | null
}

export const noAnnotations: Annotations = { workspace_status: null, tags: [], notes: null }

const bookKey = (workspace: string, book: Book, id: string) => ['book', workspace, book, id]

/** bookQuery reads the annotations of a record: a credit, or nothing and null if there are none. */
export function bookQuery(workspace: string, book: Book, id: string) {
  return queryOptions({
    queryKey: bookKey(workspace, book, id),
    staleTime: Infinity,
    gcTime: Infinity,
    enabled: false,
    retry: false,
    queryFn: async ({ signal }): Promise<Annotations | null> => {
      const fields = ['workspace_status', 'tags', 'notes', ...(book === 'accounts' ? ['icp_tier'] : [])].join(',')
      const request = api.GET(`/workspace/${book}/{id}` as '/workspace/accounts/{id}', {
        params: { path: { id }, query: { workspace_id: workspace, fields: fields as unknown as never } },
        signal,
      })
      try {
        return pick((await answer(request)).data as Annotations)
      } catch (error) {
        if (error instanceof RequestError && error.status === 404) return null
        throw error
      }
    },
  })
}

const idNames = { projects: 'project_id', accounts: 'account_id', contacts: 'contact_id' } as const

/** annotate saves annotations, which is free; null takes the record out of the book. */
export function annotate(workspace: string, book: Book, id: string) {
  return mutationOptions({
    mutationFn: async (next: Partial<Annotations> | null): Promise<Annotations | null> => {
      const query = { workspace_id: workspace }
      if (next === null) {
        const path = `/workspace/${book}/{id}` as '/workspace/accounts/{id}'
        await answer(api.DELETE(path, { params: { path: { id }, query } }))
        return null
      }
      const request = api.POST(`/workspace/${book}/upsert` as '/workspace/accounts/upsert', {
        params: { query },
        body: { [idNames[book]]: id, ...next } as unknown as Schemas['WorkspaceAccountUpsert'],
      })
      return pick((await answer(request)).data as Annotations)
    },
    onSuccess: (saved, _next, _result, { client }) => {
      client.setQueryData(bookKey(workspace, book, id), saved)
    },
  })
}

function pick({ workspace_status, tags, notes, icp_tier }: Annotations): Annotations {
  return { workspace_status, tags, notes, ...(icp_tier === undefined ? {} : { icp_tier }) }
}
