import { createStore, del, delMany, get, getMany, keys, set, setMany } from 'idb-keyval'
import type { Job, LoadedRows, Source } from './job'

/** How long an export is stored after its last change, in milliseconds. */
const retention = 7 * 24 * 3600 * 1000

const store = createStore('atlas-exports', 'keep')
const key = {
  job: (id: string) => `job ${id}`,
  source: (id: string) => `source ${id}`,
  known: (id: string) => `known ${id}`,
  page: (id: string, n: number) => `page ${id} ${n}`,
  names: (id: string, n: number) => `names ${id} ${n}`,
}

export const readJob = async (id: string): Promise<Job | null> => (await get<Job>(key.job(id), store)) ?? null
export const readSource = (id: string) => get<Source>(key.source(id), store)
export const readKnown = (id: string) => get<LoadedRows>(key.known(id), store)
export const writeSource = (id: string, source: Source) => set(key.source(id), { ...source, at: Date.now() }, store)
export const writeJob = (job: Job) => set(key.job(job.id), job, store)

/** RecordNames has the names of related records that pages of an export have read. */
export type RecordNames = [id: string, name: string | null][]

/** readNames are all names that an export knows, earlier ones first. */
export async function readNames({ id, pages }: Job): Promise<RecordNames> {
  const entries = Array.from({ length: pages + 1 }, (_, n) => key.names(id, n))
  return (await getMany<RecordNames | undefined>(entries, store)).flatMap((names) => names ?? [])
}

export const writeNewJob = (job: Job, source: Source, known: LoadedRows, names: RecordNames) =>
  setMany(
    [
      [key.job(job.id), job],
      [key.source(job.id), source],
      [key.known(job.id), known],
      [key.names(job.id, 0), names],
    ],
    store,
  )

/** appendPage stores a page, the names that it read and the progress of the export, in one transaction. */
export const appendPage = (job: Job, page: Blob, names: RecordNames) =>
  setMany(
    [
      [key.page(job.id, job.pages - 1), page],
      [key.names(job.id, job.pages), names],
      [key.job(job.id), job],
    ],
    store,
  )

/** fileOf is the written part. Its pages stay on the disk. */
export async function fileOf(job: Job): Promise<Blob> {
  const pages: Blob[] = []
  for (let n = 0; n < job.pages; n++) {
    const page = await get<Blob>(key.page(job.id, n), store)
    if (!page) throw new Error('This browser has deleted a part of the file')
    pages.push(page)
  }
  return new Blob(pages, { type: job.format === 'csv' ? 'text/csv' : 'application/x-ndjson' })
}

const isOld = (at = 0) => Date.now() - at > retention

/**
 * listJobs returns the exports of a user, newest first, and deletes old ones of any user, and
 * pages without an export.
 */
export async function listJobs(user: string, workspace: string): Promise<Job[]> {
  const names = await keys<string>(store)
  const jobKeys = names.filter((name) => name.startsWith(key.job('')))
  const jobs = (await getMany<Job>(jobKeys, store)).filter((j) => j !== undefined)
  for (const job of jobs) if (isOld(job.updatedAt)) await removeJob(job)
  for (const name of names) {
    const [, id = ''] = name.split(key.source(''))
    if (id && !jobKeys.includes(key.job(id)) && isOld((await readSource(id))?.at)) await del(name, store)
  }
  return jobs
    .filter((j) => j.user === user && j.workspace === workspace && !isOld(j.updatedAt))
    .sort((a, b) => b.startedAt - a.startedAt)
}

export async function removeJob(job: Job): Promise<void> {
  const pages = Array.from({ length: job.pages }, (_, n) => key.page(job.id, n))
  const names = Array.from({ length: job.pages + 1 }, (_, n) => key.names(job.id, n))
  await delMany([key.job(job.id), key.source(job.id), key.known(job.id), ...pages, ...names], store)
}
