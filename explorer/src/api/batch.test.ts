import { expect, it } from 'vitest'
import { runInBatches, isAbort, type Outcome } from './batch'

const ids = Array.from({ length: 250 }, (_, i) => `id-${i}`)
const collect = () => {
  const all: Outcome[] = []
  return { all, onProgress: (done: Outcome[]) => void all.push(...done) }
}

it('sends each id once, a hundred at a time', async () => {
  const sizes: number[] = []
  const { all, onProgress } = collect()
  const run = (some: string[]) => {
    sizes.push(some.length)
    return Promise.resolve(some.map((id) => (id === 'id-7' ? failed : { status: 'ok' })))
  }
  const failed = { status: 'record_not_found', error: { message: 'no such record' } }
  await runInBatches([...ids, 'id-3', 'id-3'], run, new AbortController().signal, onProgress)
  expect(sizes).toEqual([100, 100, 50])
  expect(all.map((o) => o.id)).toEqual(ids)
  expect(all[7]).toEqual({ id: 'id-7', status: 'record_not_found', message: 'no such record' })
})

it('reports what was done when a batch fails or is aborted', async () => {
  const failing = collect()
  const run = (some: string[]) =>
    some[0] === 'id-100' ? Promise.reject(new Error('away')) : Promise.resolve(some.map(() => ({ status: 'ok' })))
  await expect(runInBatches(ids, run, new AbortController().signal, failing.onProgress)).rejects.toThrow('away')
  expect(failing.all).toHaveLength(100)

  const stopped = collect()
  const controller = new AbortController()
  const ended = runInBatches(
    ids,
    (some) => {
      controller.abort()
      return Promise.resolve(some.map(() => ({ status: 'ok' })))
    },
    controller.signal,
    stopped.onProgress,
  )
  expect(isAbort(await ended.catch((e: unknown) => e))).toBe(true)
  expect(stopped.all).toHaveLength(100)
})
