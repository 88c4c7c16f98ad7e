import type { QueryClient } from '@tanstack/react-query'
import {
  annotated,
  maxAttempts,
  deleteBatch,
  upsertBatch,
  type Annotations,
  type BatchChange,
  type BatchResult,
  type Book,
} from '../api/book'
import { runInBatches, type Outcome, type Run } from '../api/batch'

/** Setting is a change of many records: other values, and more tags. */
export interface Setting {
  next: Partial<Pick<Annotations, 'workspace_status' | 'icp_tier'>>
  tags: string[]
}

/** changeOf is the change of a record. Tags are replaced as a whole, so it includes the previous ones. */
export function changeOf({ next, tags }: Setting, before: Annotations | null): Partial<Annotations> {
  const tagsBefore = before?.tags ?? []
  const missing = tags.filter((t) => !tagsBefore.includes(t))
  return { ...next, ...(missing.length > 0 ? { tags: [...tagsBefore, ...missing] } : {}) }
}

/** revertOf reverts a change of a record, to other annotations or none. Null removes it from the book. */
export function revertOf(change: Partial<Annotations>, before: Annotations | null): Partial<Annotations> | null {
  return before && Object.fromEntries((Object.keys(change) as (keyof Annotations)[]).map((k) => [k, before[k] ?? null]))
}

/**
 * bulkChange changes many records. undo restores the previous values of the changed ones, and
 * removes those from the book that were not in it; a record that somebody has changed since is
 * not touched. It returns how many were not.
 */
export function bulkChange(client: QueryClient, workspace: string, book: Book, setting: Setting) {
  /** The previous and the new values of each changed record. */
  const done = new Map<string, { before: Annotations | null; change: Partial<Annotations>; since: Annotations }>()
  const show = (ids: string[], results: BatchResult[]) => {
    const shown = ids.flatMap((id, i) => {
      const now = results[i]?.now
      return now === undefined ? [] : ([[id, now]] as const)
    })
    annotated(client, workspace, book, new Map(shown))
  }
  const run: Run = async (ids) => {
    // Nobody pays to learn whether a record is in the book: a change that expects it not to be
    // gets its values in the error.
    const changes = new Map<string, BatchChange>()
    const plan = (id: string, seen: Annotations | null) => changes.set(id, { id, seen, next: changeOf(setting, seen) })
    for (const id of ids) plan(id, done.get(id)?.since ?? null)
    const results = new Map<string, BatchResult>()
    for (let attempt = 0, left = ids; left.length > 0 && attempt < maxAttempts; attempt++) {
      const sent = left.flatMap((id) => changes.get(id) ?? [])
      const answers = await upsertBatch(workspace, book, sent)
      left = []
      sent.forEach(({ id, seen, next }, i) => {
        const result = answers[i] ?? { status: 'internal' }
        results.set(id, result)
        if (result.status === 'revision_conflict' && result.now !== undefined) {
          plan(id, result.now)
          left.push(id)
        } else if (result.status === 'ok' && result.now) {
          // A retried record still has its original values.
          const first = done.get(id)
          done.set(id, {
            before: first ? first.before : seen,
            change: { ...first?.change, ...next },
            since: result.now,
          })
        }
      })
    }
    const all = ids.map((id) => results.get(id) ?? { status: 'internal' })
    show(ids, all)
    return all
  }
  const revert: Run = async (ids) => {
    const changes = ids.flatMap((id): BatchChange[] => {
      const of = done.get(id)
      return of ? [{ id, seen: of.since, next: revertOf(of.change, of.before) }] : []
    })
    const results = new Map<string, BatchResult>()
    const send = async (some: BatchChange[], batch: typeof upsertBatch) => {
      if (some.length === 0) return
      const answers = await batch(workspace, book, some)
      some.forEach(({ id }, i) => results.set(id, answers[i] ?? { status: 'internal' }))
    }
    await send(
      changes.filter(({ next }) => next !== null),
      upsertBatch,
    )
    await send(
      changes.filter(({ next }) => next === null),
      deleteBatch,
    )
    const all = ids.map((id) => results.get(id) ?? { status: 'internal' })
    show(ids, all)
    return all
  }
  const undo = async (): Promise<number> => {
    const outcomes: Outcome[] = []
    await runInBatches([...done.keys()], revert, new AbortController().signal, (some) => outcomes.push(...some))
    const changed = outcomes.filter((o) => o.status === 'revision_conflict').length
    const failed = outcomes.filter((o) => o.status !== 'ok' && o.status !== 'revision_conflict')
    for (const { id, status } of outcomes) if (status === 'ok' || status === 'revision_conflict') done.delete(id)
    if (failed[0])
      throw new Error(`${failed.length} of ${outcomes.length} failed, ${failed[0].message ?? failed[0].status}`)
    return changed
  }
  return { run, undo }
}
