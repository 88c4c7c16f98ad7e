import type { QueryClient } from '@tanstack/react-query'
import {
  annotated,
  attempts,
  deleteBatch,
  upsertBatch,
  type Annotations,
  type BatchChange,
  type BatchResult,
  type Book,
} from '../api/book'
import { inBatches, type Outcome, type Run } from '../api/batch'

/** Setting is what many records get: other values, and more tags. */
export interface Setting {
  next: Partial<Pick<Annotations, 'workspace_status' | 'icp_tier'>>
  tags: string[]
}

/** changeOf is what to save of a record. Tags are replaced as a whole, so it has those that were there. */
export function changeOf({ next, tags }: Setting, had: Annotations | null): Partial<Annotations> {
  const before = had?.tags ?? []
  const missing = tags.filter((t) => !before.includes(t))
  return { ...next, ...(missing.length > 0 ? { tags: [...before, ...missing] } : {}) }
}

/** backOf takes a change back from a record that had none or other annotations before. Null takes it out of the book. */
export function backOf(change: Partial<Annotations>, had: Annotations | null): Partial<Annotations> | null {
  return had && Object.fromEntries((Object.keys(change) as (keyof Annotations)[]).map((k) => [k, had[k] ?? null]))
}

/**
 * settingAll sets many records. undo gives back what those that were done had, and takes out
 * of the book those that were not in it; a record that somebody has changed since stays as it
 * is. It returns how many stayed.
 */
export function settingAll(client: QueryClient, workspace: string, book: Book, setting: Setting) {
  /** What each record that was set had before, and has since. */
  const done = new Map<string, { had: Annotations | null; change: Partial<Annotations>; since: Annotations }>()
  const show = (ids: string[], results: BatchResult[]) => {
    const shown = ids.flatMap((id, i) => {
      const now = results[i]?.now
      return now === undefined ? [] : ([[id, now]] as const)
    })
    annotated(client, workspace, book, new Map(shown))
  }
  const run: Run = async (ids) => {
    // Nobody pays to learn whether a record is in the book: who says that it is not learns what it has.
    const changes = new Map<string, BatchChange>()
    const plan = (id: string, seen: Annotations | null) => changes.set(id, { id, seen, next: changeOf(setting, seen) })
    for (const id of ids) plan(id, done.get(id)?.since ?? null)
    const results = new Map<string, BatchResult>()
    for (let attempt = 0, left = ids; left.length > 0 && attempt < attempts; attempt++) {
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
          // Of one that is set again, what it had at first.
          const first = done.get(id)
          done.set(id, { had: first ? first.had : seen, change: { ...first?.change, ...next }, since: result.now })
        }
      })
    }
    const all = ids.map((id) => results.get(id) ?? { status: 'internal' })
    show(ids, all)
    return all
  }
  const back: Run = async (ids) => {
    const changes = ids.flatMap((id): BatchChange[] => {
      const of = done.get(id)
      return of ? [{ id, seen: of.since, next: backOf(of.change, of.had) }] : []
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
    await inBatches([...done.keys()], back, new AbortController().signal, (some) => outcomes.push(...some))
    const changed = outcomes.filter((o) => o.status === 'revision_conflict').length
    const failed = outcomes.filter((o) => o.status !== 'ok' && o.status !== 'revision_conflict')
    for (const { id, status } of outcomes) if (status === 'ok' || status === 'revision_conflict') done.delete(id)
    if (failed[0])
      throw new Error(`${failed.length} of ${outcomes.length} failed, ${failed[0].message ?? failed[0].status}`)
    return changed
  }
  return { run, undo }
}
