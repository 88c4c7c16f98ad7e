import type { QueryClient } from '@tanstack/react-query'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { RequestError } from '../api/client'
import { assertUnchanged, handleSessionEnd, sessionQuery, ViewChanged, workspaceQuery } from '../api/queries'
import { nouns } from '../datasets'
import { formatNumber } from '../format'
import { notify } from '../ui/toast'
import { csv, csvHead, ndjson, type CSVOptions } from './format'
import { readNames } from './names'
import type { Job, LoadedRows, Page, Source } from './job'
import { readPage } from './page'
import { saveExport } from './save'
import {
  appendPage,
  readJob,
  readKnown,
  readNames as readStoredNames,
  readSource,
  removeJob,
  writeJob,
  writeNewJob,
  type RecordNames,
} from './store'

/** Progress is the state of an export that this page runs, or has run. */
export interface Progress {
  /** Whether this page runs it. */
  running: boolean
  /** The reason for waiting. */
  waiting?: { why: 'credits' | 'busy' | 'offline' | 'session'; until?: Date }
  error?: Error
  /** The number of rows and the time at the start of this run, for the speed. */
  from?: { rows: number; at: number }
}

export const jobQuery = (id: string) =>
  queryOptions({ queryKey: ['export', id], staleTime: Infinity, gcTime: Infinity, queryFn: () => readJob(id) })

const progressKey = (id: string) => ['export-progress', id]
const idle: Progress = { running: false }

export function useProgress(id: string): Progress {
  const { data } = useQuery({
    queryKey: progressKey(id),
    queryFn: () => idle,
    initialData: idle,
    enabled: false,
    gcTime: Infinity,
  })
  return data
}

/** Exports that this page runs. Aborting one ends its wait; a page in progress is still written. */
const running = new Map<string, AbortController>()

const lockOf = (id: string) => `atlas-export-${id}`

/** Sends the id of an export to pause to all tabs of this browser. */
const pauses = new BroadcastChannel('atlas-export-pause')
pauses.onmessage = ({ data }: MessageEvent<string>) => running.get(data)?.abort()

/** How often progress in another tab is polled, in milliseconds. */
const pollInterval = 1000

/** useRunsInOtherTab reports whether another tab runs an export, and polls its progress. */
export function useRunsInOtherTab({ id, state }: Job): boolean {
  const here = useProgress(id).running
  const { data } = useQuery({
    queryKey: ['export-elsewhere', id],
    enabled: state === 'running' && !here,
    refetchInterval: pollInterval,
    queryFn: async ({ client }) => {
      const { held = [] } = await navigator.locks.query()
      client.setQueryData(jobQuery(id).queryKey, await readJob(id))
      return held.some(({ name }) => name === lockOf(id))
    },
  })
  return state === 'running' && !here && data === true
}

export type NewJob = CSVOptions &
  Pick<
    Job,
    'name' | 'id' | 'user' | 'workspace' | 'dataset' | 'format' | 'columns' | 'join' | 'projectBy' | 'total' | 'capped'
  >

/** newExport creates and starts an export. */
export async function newExport(
  client: QueryClient,
  newJob: NewJob,
  source: Source,
  known: LoadedRows,
  names: RecordNames,
): Promise<void> {
  const now = Date.now()
  const nothing = { state: 'running', rows: 0, credits: 0, bytes: 0, pages: 0 } as const
  const job: Job = { ...newJob, ...nothing, startedAt: now, updatedAt: now }
  await writeNewJob(job, source, known, names)
  client.setQueryData(jobQuery(job.id).queryKey, job)
  void client.invalidateQueries({ queryKey: ['exports'] })
  void resume(client, job.id)
}

/** resume continues an export to its end or until pause. */
export async function resume(client: QueryClient, id: string): Promise<void> {
  if (running.has(id)) return
  const control = new AbortController()
  running.set(id, control)
  const onProgress = (p: Omit<Progress, 'running'>) =>
    client.setQueryData<Progress>(progressKey(id), (before) => ({
      running: true,
      ...(before?.from ? { from: before.from } : {}),
      ...p,
    }))
  try {
    // Another tab may be running it.
    await navigator.locks.request(lockOf(id), { ifAvailable: true }, async (lock) => {
      if (!lock) throw new Error('This export runs in another tab of this browser')
      await run(client, id, control.signal, onProgress)
    })
    client.setQueryData<Progress>(progressKey(id), idle)
  } catch (error) {
    client.setQueryData<Progress>(progressKey(id), { running: false, error: error as Error })
  } finally {
    running.delete(id)
    void client.invalidateQueries({ queryKey: ['exports'] })
  }
}

/** pause stops an export after the page in progress. */
export function pause(id: string): void {
  running.get(id)?.abort()
  pauses.postMessage(id)
}

/** stop ends an export for good and leaves the written part. */
export async function stop(client: QueryClient, { id }: Job): Promise<void> {
  pause(id)
  // A page in progress is written first.
  await navigator.locks.request(lockOf(id), async () => {
    const job = await readJob(id)
    if (!job || job.state === 'complete') return
    const stopped: Job = { ...job, state: 'stopped', updatedAt: Date.now() }
    await writeJob(stopped)
    client.setQueryData(jobQuery(id).queryKey, stopped)
  })
  void client.invalidateQueries({ queryKey: ['exports'] })
}

export async function deleteExport(client: QueryClient, job: Job): Promise<void> {
  await removeJob(job)
  client.setQueryData(jobQuery(job.id).queryKey, null)
  await client.invalidateQueries({ queryKey: ['exports'] })
}

async function run(
  client: QueryClient,
  id: string,
  paused: AbortSignal,
  onProgress: (p: Omit<Progress, 'running'>) => void,
) {
  const read = await readJob(id)
  const source = await readSource(id)
  if (!read || !source) throw new Error('This browser has no such export any more')
  const known = (await readKnown(id)) ?? {}
  let job: Job = read
  const namesById = new Map(await readStoredNames(read))
  // The names that the page in progress has read and paid for.
  let newNames: { found: RecordNames; credits: number } = { found: [], credits: 0 }
  const set = async (next: Job, page?: Blob) => {
    job = { ...next, updatedAt: Date.now() }
    await (page ? appendPage(job, page, newNames.found) : writeJob(job))
    client.setQueryData(jobQuery(id).queryKey, job)
  }
  // Another tab may have ended it.
  if (job.state === 'complete' || job.state === 'stopped') return void client.setQueryData(jobQuery(id).queryKey, job)
  await set({ ...job, state: 'running' })
  const from = { rows: job.rows, at: Date.now() }
  onProgress({ from })
  const unchanged = () => assertUnchanged(client, job.workspace, source.body.source)
  // A paid page is reused when the check whether the View has changed must be repeated.
  let paid: Page | undefined
  let verified = false
  for (let failures = 0; !paused.aborted;) {
    let more = true
    try {
      check(client, job)
      if (!paid && !verified) await unchanged()
      const page = (paid ??= await readPage(job, source, known))
      // A cursor does not depend on the definition. Only if it is unchanged, the whole page
      // belongs to it.
      await unchanged()
      verified = true
      await readNames(job.workspace, page.records, job.columns, namesById, (found, credits) => {
        for (const [key, name] of found) namesById.set(key, name)
        newNames = { found: [...newNames.found, ...found], credits: newNames.credits + credits }
      })
      failures = 0
      const head = job.pages === 0 && job.format === 'csv' ? csvHead(job.columns, job) : ''
      const lines = page.records.map((r) => (job.format === 'csv' ? csv(r, job.columns, job, namesById) : ndjson(r)))
      const blob = new Blob([head, ...lines])
      const { cursor: _, ...rest } = job
      const rows = job.rows + page.records.length
      more = page.next !== undefined && !(job.capped && rows >= job.total)
      await set(
        {
          ...rest,
          ...(page.next ? { cursor: page.next } : {}),
          rows,
          credits: job.credits + page.credits + newNames.credits,
          bytes: job.bytes + blob.size,
          pages: job.pages + 1,
          state: more ? 'running' : 'complete',
        },
        blob,
      )
      paid = undefined
      newNames = { found: [], credits: 0 }
      if (more) onProgress({ from })
    } catch (error) {
      verified = false
      const waiting = waitingFor(error, failures++)
      if (!waiting) {
        const state = error instanceof ViewChanged ? 'stopped' : 'paused'
        await set({ ...job, state, credits: job.credits + (paid?.credits ?? 0) + newNames.credits })
        throw error
      }
      onProgress({ from, waiting })
      if (waiting.why === 'session') {
        handleSessionEnd(client)
        await untilSignedIn(client, paused)
      } else await sleep(+(waiting.until ?? 0) - Date.now(), paused)
      onProgress({ from })
    }
    // All rows are loaded. Saving the file can fail, and be repeated.
    if (!more) {
      await saveExport(job)
      notify(`${formatNumber(job.rows)} ${nouns[job.dataset].many} are exported`)
      return
    }
  }
  await set({ ...job, state: 'paused' })
}

/** check refuses an export of a user or workspace other than the page's. */
function check(client: QueryClient, { user, workspace }: Job) {
  const now = client.getQueryData(sessionQuery.queryKey)
  if (now && now.id !== user) throw new Error('This export is another user’s')
  if (client.getQueryData(workspaceQuery.queryKey)?.id !== workspace)
    throw new Error('This export is of another workspace')
}

/** The maximum wait for a service that does not answer, in milliseconds. */
const maxWait = 30_000

function waitingFor(error: unknown, failures: number): Progress['waiting'] {
  if (!(error instanceof RequestError)) return undefined
  const soon = new Date(Date.now() + Math.min(maxWait, 1000 * 2 ** failures))
  if (error.code === 'rate_limited' || error.code === 'key_budget_used')
    return { why: 'credits', until: error.retryAt ?? soon }
  if (error.status === 401) return { why: 'session' }
  if (error.status === 0) return { why: 'offline', until: soon }
  if (error.status === 503 || error.status === 429) {
    return { why: 'busy', until: error.retryAt && error.retryAt > soon ? error.retryAt : soon }
  }
  return undefined
}

const sleep = (time: number, paused: AbortSignal) =>
  new Promise<void>((resolve) => {
    // Browsers cannot wait for longer than 2^31 ms at once.
    const timer = setTimeout(resolve, Math.min(Math.max(0, time), 2 ** 31 - 1))
    paused.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

/** untilSignedIn waits until a user has signed in. */
const untilSignedIn = (client: QueryClient, paused: AbortSignal) =>
  new Promise<void>((resolve) => {
    const look = () => {
      if (!paused.aborted && !client.getQueryData(sessionQuery.queryKey)) return
      unsubscribe()
      resolve()
    }
    const unsubscribe = client.getQueryCache().subscribe(look)
    paused.addEventListener('abort', look)
  })
