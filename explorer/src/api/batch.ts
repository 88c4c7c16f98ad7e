/** How many items a batch of the API takes. */
const batchSize = 100

/** Outcome is the result of one record. */
export interface Outcome {
  id: string
  /** ok, or the code of the error. */
  status: string
  message?: string
}

interface Result {
  status: string
  error?: { message: string }
}

/** Run sends one batch; its results are in the order of the ids. */
export type Run = (ids: string[]) => Promise<Result[]>

/**
 * runInBatches runs all ids, each once, one batch after the other, and reports progress after each.
 * When a batch fails it throws: the reported ones are done, the rest is not. A stop takes effect
 * after the current batch, because that may already be done.
 */
export async function runInBatches(
  ids: string[],
  run: Run,
  signal: AbortSignal,
  onProgress: (done: Outcome[]) => void,
) {
  const unique = [...new Set(ids)]
  for (let at = 0; at < unique.length; at += batchSize) {
    signal.throwIfAborted()
    const batch = unique.slice(at, at + batchSize)
    const results = await run(batch)
    onProgress(
      batch.map((id, i) => {
        const { status = 'internal', error } = results[i] ?? {}
        return { id, status, ...(error ? { message: error.message } : {}) }
      }),
    )
  }
}

/** runAll runs all ids, and throws if one of them failed. */
export async function runAll(ids: string[], run: Run): Promise<void> {
  const failed: Outcome[] = []
  await runInBatches(ids, run, new AbortController().signal, (done) => {
    failed.push(...done.filter((o) => o.status !== 'ok'))
  })
  const [first] = failed
  if (first) throw new Error(`${failed.length} of ${new Set(ids).size} failed, ${first.message ?? first.status}`)
}

/** retryableIds are the ids to retry: those that were not tried, and those with a server error. */
export function retryableIds(ids: string[], outcomes: Outcome[]): string[] {
  const over = new Set(outcomes.filter((o) => o.status !== 'unavailable' && o.status !== 'internal').map((o) => o.id))
  return [...new Set(ids)].filter((id) => !over.has(id))
}

/** isAbort reports whether an error is a stop by the user. */
export const isAbort = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'
