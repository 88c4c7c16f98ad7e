import { mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import { requestUser, answer, api, RequestError, type Schemas } from './client'
import { changeRows } from './pages'

/** Books are the datasets whose records a workspace can save. */
export const books = ['projects', 'accounts', 'contacts'] as const
export type Book = (typeof books)[number]

/** Annotations are the workspace's values of a record in its book. */
export interface Annotations {
  workspace_status: string | null
  tags: string[]
  notes: string | null
  /** Of firms only. */
  icp_tier?: Schemas['IcpTier'] | null
}

/** tiers are the levels of fit of a firm, with their labels. */
export const tiers: [Schemas['IcpTier'], string][] = [
  ['tier_1', 'Tier 1'],
  ['tier_2', 'Tier 2'],
  ['tier_3', 'Tier 3'],
  ['disqualified', 'Disqualified'],
]

export const noAnnotations: Annotations = { workspace_status: null, tags: [], notes: null }

const bookKey = (workspace: string, book: Book, id: string) => ['book', workspace, book, id]

/** bookQuery reads the annotations of a record: for a credit, or free and null if there are none. */
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

/** Upsert has the values that an upsert changes; absent ones stay. */
export type Upsert = Partial<Annotations>

type Keys = (keyof Annotations)[]

/** keysOf are the keys that a change affects; for null, which removes the record from the book, all of them. */
const keysOf = (next: Upsert | null, seen: Annotations) => Object.keys(next ?? seen) as Keys

/**
 * expectedOf are the values that the service compares before a change: the affected values as the
 * user saw them. Null: the record is not in the book.
 */
function expectedOf(next: Upsert | null, seen: Annotations | null) {
  if (seen === null) return { in_book: false }
  return Object.fromEntries(keysOf(next, seen).map((key) => [key, seen[key] ?? null]))
}

const query = (workspace: string) => ({ params: { query: { workspace_id: workspace } } })

/** upsertOne saves annotations of a record and returns all of them. */
async function upsertOne(workspace: string, book: Book, id: string, next: object): Promise<Annotations> {
  const request = api.POST(`/workspace/${book}/upsert` as '/workspace/accounts/upsert', {
    ...query(workspace),
    body: { [idNames[book]]: id, ...next } as unknown as Schemas['WorkspaceAccountUpsert'],
  })
  return pick((await answer(request)).data as Annotations)
}

/**
 * BatchChange is the change of a record, null to remove it from the book, and the values that the
 * user saw, null: not in the book.
 */
export interface BatchChange {
  id: string
  next: Upsert | null
  seen: Annotations | null
}

export interface BatchResult {
  status: string
  error?: { message: string }
  /** The current values, null if it is not in the book: after the change, or the conflicting ones. */
  now?: Annotations | null
}

interface Item {
  status: string
  error?: { message: string; current?: Schemas['CurrentValues'] }
  data?: Annotations
}

function resultOf({ status, error, data }: Item): BatchResult {
  if (!error) return { status, now: data ? pick(data) : null }
  const { message, current } = error
  return {
    status,
    error: { message },
    ...(current === undefined ? {} : { now: current && pick(current as Annotations) }),
  }
}

/** upsertBatch saves annotations of up to 100 records that have not changed. */
export async function upsertBatch(workspace: string, book: Book, changes: BatchChange[]): Promise<BatchResult[]> {
  const request = api.POST(`/workspace/${book}/upsert/batch` as '/workspace/accounts/upsert/batch', {
    ...query(workspace),
    body: {
      inputs: changes.map(({ id, next, seen }) => ({ [idNames[book]]: id, ...next, expected: expectedOf(next, seen) })),
    } as unknown as Schemas['UpsertWorkspaceAccountsBatchRequest'],
  })
  return ((await answer(request)).data.results as Item[]).map(resultOf)
}

/** deleteBatch removes up to 100 records from the book that have not changed. */
export async function deleteBatch(workspace: string, book: Book, changes: BatchChange[]): Promise<BatchResult[]> {
  const request = api.POST(`/workspace/${book}/delete/batch` as '/workspace/accounts/delete/batch', {
    ...query(workspace),
    body: {
      ids: changes.map(({ id }) => id),
      expected: Object.fromEntries(changes.map(({ id, seen }) => [id, expectedOf(null, seen)])),
    },
  })
  return ((await answer(request)).data.results as Item[]).map(resultOf)
}

/** Conflict means that somebody else has changed the same value. */
export class Conflict extends Error {
  constructor(
    /** The current values, null if the record is not in the book. */
    readonly theirs: Annotations | null,
    readonly keys: Keys,
  ) {
    super('Somebody else has changed this meanwhile')
  }
}

/** Change is the values to save, null to remove the record from the book; and the values that the user saw. */
export interface Change {
  next: Upsert | null
  /** Null: it was not in the book. Absent: the change overwrites others. */
  seen?: Annotations | null
  /** The message after saving. */
  done?: string
}

/**
 * Saved has the values of a record after a change, and just before it: undefined if those were
 * overwritten without being read.
 */
export interface Saved {
  now: Annotations | null
  before: Annotations | null | undefined
}

/** editsKey is the key of all edits of records, with a record of its edits. */
export const editsKey = (...of: [workspace: string, book: Book, id: string] | []) => ['edit', ...of]

const same = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/**
 * mergeOf merges a change into other values than the user saw: tags of both. Any other value that
 * both change is a Conflict.
 */
export function mergeOf(next: Upsert | null, seen: Annotations | null, now: Annotations | null): Upsert | null {
  const before = seen ?? noAnnotations
  const current = now ?? noAnnotations
  // A record that somebody else removed is not restored without asking.
  if (seen && !now && next) throw new Conflict(null, keysOf(next, seen))
  const theirs = keysOf(next, current).filter((k) => !same(current[k], before[k]) && !same(current[k], next?.[k]))
  if (!next?.tags || !theirs.includes('tags')) {
    if (theirs.length > 0) throw new Conflict(now, theirs)
    return next
  }
  const others = theirs.filter((k) => k !== 'tags')
  if (others.length > 0) throw new Conflict(now, others)
  const remaining = current.tags.filter((t) => !before.tags.includes(t) || next.tags?.includes(t))
  const added = next.tags.filter((t) => !before.tags.includes(t) && !remaining.includes(t))
  return { ...next, tags: [...remaining, ...added] }
}

/**
 * undoOf reverts a change, to the values just before it, with what others had written by then:
 * the previous values, or that it was not in the book. Undefined: there is nothing to revert.
 */
export function undoOf({ next }: Change, { now, before }: Saved): Change | undefined {
  if (before === undefined || (before === null && now === null)) return undefined
  if (!before || !next) return { next: before, seen: now }
  return { next: Object.fromEntries(keysOf(next, before).map((key) => [key, before[key] ?? null])), seen: now }
}

/** How often a conflicting change is retried. */
export const maxAttempts = 5

/**
 * annotate saves annotations, which is free, of a record that has not changed. A value that
 * somebody else has changed meanwhile is a Conflict, except tags, which are merged.
 */
export function annotate(workspace: string, book: Book, id: string, name: string) {
  const save = async (next: Upsert | null, seen: Annotations | null | undefined): Promise<Annotations | null> => {
    if (next)
      return upsertOne(workspace, book, id, seen === undefined ? next : { ...next, expected: expectedOf(next, seen) })
    if (seen === undefined) {
      const path = `/workspace/${book}/{id}` as '/workspace/accounts/{id}'
      await answer(api.DELETE(path, { params: { path: { id }, query: { workspace_id: workspace } } }))
      return null
    }
    const [result] = await deleteBatch(workspace, book, [{ id, next, seen }])
    if (!result?.error) return null
    throw new RequestError(409, result.status, result.error.message, '', undefined, result.now ?? null)
  }
  return mutationOptions({
    mutationKey: editsKey(workspace, book, id),
    meta: { name },
    // A failed edit stays until it is saved or discarded.
    gcTime: Infinity,
    mutationFn: async ({ next, seen }: Change): Promise<Saved> => {
      let [change, base] = [next, seen]
      for (let attempt = 1; ; attempt++) {
        try {
          return { now: await save(change, base), before: base }
        } catch (error) {
          if (!(error instanceof RequestError) || error.code !== 'revision_conflict' || attempt === maxAttempts)
            throw error
          const now = error.current ? pick(error.current as Annotations) : null
          if (!next && !now) return { now, before: now } // somebody else removed it
          change = mergeOf(next, seen ?? null, now)
          base = now
        }
      }
    },
    onSuccess: ({ now }, _change, _result, { client }) => {
      annotated(client, workspace, book, new Map([[id, now]]))
    },
    onError: (error, _change, _result, { client }) => {
      if (error instanceof Conflict) annotated(client, workspace, book, new Map([[id, error.theirs]]))
    },
  })
}

/**
 * annotated updates all loaded copies of a record with the saved annotations, null for a record
 * that is no longer in the book.
 */
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
        return [{ ...r, ...values, updated_at: at, updated_by: requestUser() ?? null }]
      }),
    )
    void client.invalidateQueries({ queryKey: ['facets', workspace, book, here] })
  }
}

/** The annotations in a View's row of a record outside the book. */
const outside = { workspace_status: null, tags: null, icp_tier: null, updated_at: null, updated_by: null }

function pick({ workspace_status, tags, notes, icp_tier }: Annotations): Annotations {
  return { workspace_status, tags, notes, ...(icp_tier === undefined ? {} : { icp_tier }) }
}

/** ofRow reads annotations from a row of the book or of a View: undefined if the row lacks some. */
export function ofRow(row: Partial<Annotations> & { updated_at?: string | null }): Annotations | null | undefined {
  if (row.updated_at === null) return null
  return row.notes === undefined ? undefined : pick(row as Annotations)
}
