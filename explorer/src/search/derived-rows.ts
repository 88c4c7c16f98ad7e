import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import type { Body } from '../api/body'
import { Rows, type Page } from '../api/pages'
import type { Sort } from '../api/queries'
import type { Dataset } from '../datasets'
import { tableOf } from '../table/fields'
import { defaultSort } from '../table/sort'
import { deriveRows, type RowsQuery } from '../table/client-side'

export type Loaded = InfiniteData<Page, string | undefined>

const isWhole = ({ pages }: Loaded) => pages.length > 0 && pages.at(-1)?.next === undefined

/** Searches that cannot be computed from the rows, so that this is not attempted at each render. */
const underivable = new WeakMap<Loaded, Set<string>>()

/** derivedRows are the rows of a search that are computed from another, completely loaded one. They are free. */
export function derivedRows(
  client: QueryClient,
  workspace: string,
  dataset: Dataset,
  now: RowsQuery,
): Loaded | undefined {
  const table = tableOf({ dataset, source: now.body.source })
  const key = JSON.stringify(now)
  const withSort = ({ body, sort }: RowsQuery): RowsQuery => ({ body, sort: sort ?? defaultSort({ dataset, ...body }) })
  for (const query of client.getQueryCache().findAll({ queryKey: ['rows', workspace, dataset] })) {
    const data = query.state.data as Loaded | undefined
    if (!data || !isWhole(data)) continue
    const attempted = underivable.get(data) ?? new Set()
    underivable.set(data, attempted)
    if (attempted.has(key)) continue
    const [, , , body, sort] = query.queryKey as [string, string, Dataset, Body, Sort | undefined]
    const page = deriveRows(table, withSort({ body, sort }), new Rows(data.pages), withSort(now))
    if (page) return { pages: [page], pageParams: [undefined] }
    attempted.add(key)
  }
  return undefined
}
