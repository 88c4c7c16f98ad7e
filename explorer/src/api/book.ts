import { mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { answer, api, RequestError, type Schemas } from './client'
import { changeRows } from './pages'

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

/** tiers are how well a firm fits, with what people call them. */
export const tiers: [Schemas['IcpTier'], string][] = [
  ['tier_1', 'Tier 1'],
  ['tier_2', 'Tier 2'],
  ['tier_3', 'Tier 3'],
  ['disqualified', 'Disqualified'],
]

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

/** Upsert is what an upsert changes; what is left out stays. */
type Upsert = Partial<Annotations>

/** upsertOne saves annotations of a record and returns all that it has then. Without any it only reads, for free. */
async function upsertOne(workspace: string, book: Book, id: string, next: Upsert): Promise<Annotations> {
  const request = api.POST(`/workspace/${book}/upsert` as '/workspace/accounts/upsert', {
    params: { query: { workspace_id: workspace } },
    body: { [idNames[book]]: id, ...next } as unknown as Schemas['WorkspaceAccountUpsert'],
  })
  return pick((await answer(request)).data as Annotations)
}

/** upsertBatch saves annotations of up to 100 records. */
export async function upsertBatch(workspace: string, book: Book, inputs: ({ id: string } & Upsert)[]) {
  const request = api.POST(`/workspace/${book}/upsert/batch` as '/workspace/accounts/upsert/batch', {
    params: { query: { workspace_id: workspace } },
    body: {
      inputs: inputs.map(({ id, ...next }) => ({ [idNames[book]]: id, ...next })),
    } as unknown as Schemas['UpsertWorkspaceAccountsBatchRequest'],
  })
  return (await answer(request)).data.results.map((r) => ({
    status: r.status as string,
    ...(r.error ? { error: r.error } : {}),
    ...(r.data ? { data: pick(r.data as Annotations) } : {}),
  }))
}

/** Conflict is that somebody else has changed what one was about to change. */
export class Conflict extends Error {
  constructor(
    /** What the record says now. */
    readonly theirs: Annotations,
    readonly keys: (keyof Annotations)[],
  ) {
    super('Somebody else has changed this meanwhile')
  }
}

/** Change is what to save, null to take the record out of the book; and what one has seen before. */
export interface Change {
  next: Upsert | null
  /** Null: it was not in the book. Absent: whatever others have saved is replaced. */
  seen?: Annotations | null
  /** What to say once it is saved. */
  done?: string
}

/** editsKey is the key of all edits of records, with a record of its edits. */
export const editsKey = (...of: [workspace: string, book: Book, id: string] | []) => ['edit', ...of]

const same = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/**
 * annotate saves annotations, which is free. The API takes the last write, so the record
 * is read before, for free too: what somebody else has changed meanwhile is a Conflict,
 * but tags of both are kept. Two who save within the same moment are not noticed.
 */
export function annotate(workspace: string, book: Book, id: string, name: string) {
  return mutationOptions({
    mutationKey: editsKey(workspace, book, id),
    meta: { name },
    // An edit that failed stays until it is saved or given up.
    gcTime: Infinity,
    mutationFn: async ({ next, seen }: Change): Promise<Annotations | null> => {
      let change = next
      if (seen !== undefined) {
        const now = await upsertOne(workspace, book, id, {})
        const before = seen ?? noAnnotations
        const touched = Object.keys(next ?? now) as (keyof Annotations)[]
        const theirs = touched.filter((k) => !same(now[k], before[k]) && !same(now[k], next?.[k]))
        if (next?.tags && theirs.includes('tags')) {
          const added = next.tags.filter((t) => !before.tags.includes(t))
          const kept = now.tags.filter((t) => !before.tags.includes(t) || next.tags?.includes(t))
          change = { ...next, tags: [...kept, ...added.filter((t) => !kept.includes(t))] }
          theirs.splice(theirs.indexOf('tags'), 1)
        }
        if (theirs.length > 0) throw new Conflict(now, theirs)
      }
      if (change) return upsertOne(workspace, book, id, change)
      const path = `/workspace/${book}/{id}` as '/workspace/accounts/{id}'
      await answer(api.DELETE(path, { params: { path: { id }, query: { workspace_id: workspace } } }))
      return null
    },
    onSuccess: (saved, _change, _result, { client }) => {
      annotated(client, workspace, book, new Map([[id, saved]]))
    },
    onError: (error, _change, _result, { client }) => {
      if (error instanceof Conflict) annotated(client, workspace, book, new Map([[id, error.theirs]]))
    },
  })
}

/** annotated shows what was saved, null for a record that is no longer in the book, wherever the record is. */
export function annotated(client: QueryClient, workspace: string, book: Book, saved: Map<string, Annotations | null>) {
  for (const [id, values] of saved) client.setQueryData(bookKey(workspace, book, id), values)
  const at = new Date().toISOString()
  for (const kind of ['book', 'view']) {
    const here = { source: { kind } }
    changeRows(client, ['rows', workspace, book, here], (rows) =>
      rows.flatMap((r) => {
        const values = saved.get(r.id)
        if (values === undefined) return [r]
        if (values === null) return kind === 'book' ? [] : [{ ...r, ...outside } as unknown as typeof r]
        return [{ ...r, ...values, updated_at: at }]
      }),
    )
    void client.invalidateQueries({ queryKey: ['facets', workspace, book, here] })
  }
}

/** What a View's row says of a record outside the book. */
const outside = { workspace_status: null, tags: null, icp_tier: null, updated_at: null }

function pick({ workspace_status, tags, notes, icp_tier }: Annotations): Annotations {
  return { workspace_status, tags, notes, ...(icp_tier === undefined ? {} : { icp_tier }) }
}

/** ofRow reads annotations from a row of the book or of a View: undefined if the row does not say all. */
export function ofRow(row: Partial<Annotations> & { updated_at?: string | null }): Annotations | null | undefined {
  if (row.updated_at === null) return null
  return row.notes === undefined ? undefined : pick(row as Annotations)
}
