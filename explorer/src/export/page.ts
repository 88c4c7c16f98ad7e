import { answer, api, type Schemas } from '../api/client'
import { routeOf, type Source as Place } from '../source'
import { columnsOf, tableOf } from '../table/fields'
import type { Sort } from '../api/queries'
import { defaultSort } from '../table/sort'
import { readJoin } from './join'
import { idsOf } from './names'
import { elements, members } from './raw-json'
import type { Job, LoadedRows, Page, Source } from './job'

/** The largest page of the service, in rows. */
export const pageSize = 100

/** readPage reads the next page of an export. */
export function readPage(job: Job, source: Source, known: LoadedRows): Promise<Page> {
  const size = Math.min(pageSize, job.capped ? job.total - job.rows : pageSize)
  return source.ids ? readByID(job, source.ids, known, size) : readBySearch(job, source, size)
}

/** fieldsOf are the fields to request for the columns of the file. Rows of a book or a View have fewer by default. */
function fieldsOf({ format, columns, dataset }: Job, source?: Place) {
  const all = columnsOf(tableOf({ dataset, source }))
  const fields = format === 'csv' ? [...new Set(columns.map((c) => idsOf(c)?.ids ?? c))] : all
  return source || fields.length < all.length ? { fields } : {}
}

async function readBySearch(job: Job, from: Source, limit: number): Promise<Page> {
  const { source, ...body } = from.body
  // By relevance rows would be lost or duplicated, because it changes with the data. A file for
  // people has the order of the table; others have that of `atlas export`.
  const usual = job.people && defaultSort({ dataset: job.dataset, ...body, ...(source ? { source } : {}) })
  const shown = from.sort ?? usual
  const order: Sort = shown && shown.field !== 'relevance' ? shown : { field: 'created_at', order: 'asc' }
  if (job.join) return readJoin(job, from.body, limit, order)
  const text = await answer(
    api.POST(`${routeOf(job.dataset, source)}/search` as '/data/projects/search', {
      params: { query: { workspace_id: job.workspace } },
      body: {
        ...body,
        ...fieldsOf(job, source),
        sort: order,
        limit,
        ...(job.cursor ? { search_after: job.cursor } : {}),
      } as Schemas['ProjectSearchRequest'],
      parseAs: 'text',
    }),
  )
  const page = members(text)
  const metadata = JSON.parse(page.get('metadata') ?? '{}') as Schemas['PageMetadata']
  const next = metadata.search_after
  return { records: recordsOf(page.get('data') ?? '[]'), credits: metadata.credits, ...(next ? { next } : {}) }
}

/** recordsOf are the records of a page; those of a View stand beside its dataset. */
export const recordsOf = (data: string): string[] =>
  elements(data.startsWith('{') ? (members(data).get('records') ?? '[]') : data)

async function readByID(job: Job, all: string[], known: LoadedRows, size: number): Promise<Page> {
  const from = Number(job.cursor ?? 0)
  const ids = all.slice(from, from + size)
  const missing = ids.filter((id) => !known[id])
  const found = new Map(ids.flatMap((id) => (known[id] ? [[id, JSON.stringify(known[id])]] : [])))
  let credits = 0
  if (missing.length > 0) {
    const text = await answer(
      api.POST(`/data/${job.dataset}/get/batch` as '/data/projects/get/batch', {
        params: { query: { workspace_id: job.workspace } },
        body: { ids: missing, ...fieldsOf(job) } as Schemas['GetProjectsBatchRequest'],
        parseAs: 'text',
      }),
    )
    const page = members(text)
    credits = (JSON.parse(page.get('metadata') ?? '{}') as { credits: number }).credits
    for (const result of elements(members(page.get('data') ?? '{}').get('results') ?? '[]')) {
      const record = members(result).get('data')
      if (record) found.set((JSON.parse(record) as { id: string }).id, record)
    }
  }
  const next = from + ids.length
  // Deleted records are left out.
  const records = ids.flatMap((id) => found.get(id) ?? [])
  return { records, credits, ...(next < all.length ? { next: String(next) } : {}) }
}
