import { useInfiniteQuery, useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { DerivedPage, Rows, type Page } from '../api/pages'
import { rowsQuery, type Sort } from '../api/queries'
import { tableOf } from '../table/fields'
import { clientFilter, type RowsQuery } from '../table/client-side'
import { useSearch, type Search } from './context'
import { derivedRows } from './derived-rows'

/** useRows has the loaded rows of the search, or rows that are derived from loaded ones. */
export function useRows() {
  const { workspace, state, body } = useSearch()
  const client = useQueryClient()
  const query = useInfiniteQuery({
    ...rowsQuery(workspace.id, state.dataset, body, state.sort),
    initialData: () => derivedRows(client, workspace.id, state.dataset, { body, sort: state.sort }),
  })
  return { query, isDerived: query.data?.pages[0] instanceof DerivedPage }
}

/** PreviousRows are the rows of the previous search, which stay visible until the rows of this one are loaded. */
export interface PreviousRows {
  of: RowsQuery
  rows: Rows
  /** How many rows were visible before, without those that this search does not find. */
  previousCount?: number
  drop: () => void
}

/** usePreviousRows returns the paid rows of the previous search in the same place. */
export function usePreviousRows(data: InfiniteData<Page> | undefined): PreviousRows | undefined {
  const { workspace, state, body } = useSearch()
  const client = useQueryClient()
  const table = tableOf(state)
  const place = JSON.stringify([workspace.id, state.dataset, state.source])
  const [last, setLast] = useState<{ place: string; of: RowsQuery }>()
  const isLoaded = data !== undefined && data.pages.some((p) => p.ids.length > 0)
  if (isLoaded && (last?.place !== place || last.of.body !== body || last.of.sort !== state.sort)) {
    setLast({ place, of: { body, sort: state.sort } })
  }
  const of = !data && last?.place === place ? last.of : undefined
  const pages = of && client.getQueryData(rowsQuery(workspace.id, state.dataset, of.body, of.sort).queryKey)?.pages
  return useMemo((): PreviousRows | undefined => {
    if (!of || !pages) return undefined
    const rows = new Rows(pages)
    const test = clientFilter(table, of.body, body)
    const drop = () => setLast(undefined)
    if (!test) return { of, rows, drop }
    const order = rows.ids().flatMap((_, i) => {
      const record = rows.at(i)
      return record && test(record) ? [i] : []
    })
    if (order.length === rows.length) return { of, rows, drop }
    return { of, rows: new Rows([new DerivedPage(rows, order)]), previousCount: rows.length, drop }
  }, [of, pages, table, body])
}

/** canSortLocally reports whether the client can sort the loaded rows, which is free. */
export function canSortLocally({ workspace, state, body }: Search, client: QueryClient, sort: Sort): boolean {
  const { queryKey } = rowsQuery(workspace.id, state.dataset, body, sort)
  return (
    client.getQueryData(queryKey) !== undefined ||
    derivedRows(client, workspace.id, state.dataset, { body, sort }) !== undefined
  )
}
