import type { QueryClient } from '@tanstack/react-query'
import { annotated, upsertBatch, type Annotations, type Book } from '../api/book'
import { inFull, type Run } from '../api/batch'

/** Setting is what many records get: other values, and more tags. */
export interface Setting {
  next: Partial<Pick<Annotations, 'workspace_status' | 'icp_tier'>>
  tags: string[]
}

/** changeOf is what to save of a record. Tags are replaced as a whole, so it has those that were there. */
export function changeOf({ next, tags }: Setting, had: Annotations): Partial<Annotations> {
  const missing = tags.filter((t) => !had.tags.includes(t))
  return { ...next, ...(missing.length > 0 ? { tags: [...had.tags, ...missing] } : {}) }
}

/** backOf takes a setting back from what a record has now. What others have changed since stays. */
export function backOf({ next, tags }: Setting, had: Annotations, now: Annotations): Partial<Annotations> {
  const keys = (Object.keys(next) as (keyof Setting['next'])[]).filter((k) => (now[k] ?? null) === next[k])
  return {
    ...Object.fromEntries(keys.map((k) => [k, had[k] ?? null])),
    tags: now.tags.filter((t) => had.tags.includes(t) || !tags.includes(t)),
  }
}

/** settingAll sets many records. undo gives back what those that were done had; they stay in the book. */
export function settingAll(client: QueryClient, workspace: string, book: Book, setting: Setting) {
  const former = new Map<string, Annotations>()
  /** change reads records, which an upsert without values does for free, and saves what it makes of each. */
  const change = async (ids: string[], make: (id: string, now: Annotations) => Partial<Annotations>) => {
    const results = await upsertBatch(
      workspace,
      book,
      ids.map((id) => ({ id })),
    )
    const found = ids.flatMap((id, i) => (results[i]?.data ? [{ id, i, now: results[i].data }] : []))
    if (found.length === 0) return results
    const saved = await upsertBatch(
      workspace,
      book,
      found.map(({ id, now }) => ({ id, ...make(id, now) })),
    )
    const shown = new Map<string, Annotations>()
    found.forEach(({ id, i }, at) => {
      const result = saved[at] ?? { status: 'internal' }
      results[i] = result
      if ('data' in result && result.data) shown.set(id, result.data)
    })
    annotated(client, workspace, book, shown)
    return results
  }
  const run: Run = (ids) =>
    change(ids, (id, now) => {
      if (!former.has(id)) former.set(id, now)
      return changeOf(setting, now)
    })
  const undo = () =>
    inFull([...former.keys()], (ids) => change(ids, (id, now) => backOf(setting, former.get(id) ?? now, now)))
  return { run, undo }
}
