import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import type { Body } from '../api/body'
import { Rows, type Page } from '../api/pages'
import type { Sort } from '../api/queries'
import type { Dataset } from '../datasets'
import { tableOf } from '../table/fields'
import { usualSort } from '../table/sort'
import { arranged, type RowsOf } from '../table/in-place'

export type Loaded = InfiniteData<Page, string | undefined>

const isWhole = ({ pages }: Loaded) => pages.length > 0 && pages.at(-1)?.next === undefined

/** Searches that do not follow from the rows, so that this is not tried at each render. */
const refused = new WeakMap<Loaded, Set<string>>()

/** inPlace are the rows of a search that follow from another, completely loaded one. They are free. */
export function inPlace(client: QueryClient, workspace: string, dataset: Dataset, now: RowsOf): Loaded | undefined {
  const table = tableOf({ dataset, source: now.body.source })
  const wanted = JSON.stringify(now)
  const named = ({ body, sort }: RowsOf): RowsOf => ({ body, sort: sort ?? usualSort({ dataset, ...body }) })
  for (const query of client.getQueryCache().findAll({ queryKey: ['rows', workspace, dataset] })) {
    const data = query.state.data as Loaded | undefined
    if (!data || !isWhole(data)) continue
    const tried = refused.get(data) ?? new Set()
    refused.set(data, tried)
    if (tried.has(wanted)) continue
    const [, , , body, sort] = query.queryKey as [string, string, Dataset, Body, Sort | undefined]
    const page = arranged(table, named({ body, sort }), new Rows(data.pages), named(now))
    if (page) return { pages: [page], pageParams: [undefined] }
    tried.add(wanted)
  }
  return undefined
}
