import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import { facetsQuery, recordQuery, rowsQuery } from '../api/queries'
import { includedQuery } from '../api/related'
import type { AnyRecord, Dataset, Records } from '../datasets'
import { useSearch } from '../search/context'
import { filterOf, type Group, type FilterGroup, type Relation } from './relations'

/** useGroups counts related records, which is free, and reads them on demand. */
export function useGroups(dataset: Dataset, id: string, relations: Relation[]) {
  const { workspace } = useSearch()
  const counted = useQueries({
    queries: relations.map((r) => ({
      ...facetsQuery(workspace.id, r.dataset, 'key' in r ? filterOf(r.key, id) : {}, []),
      enabled: 'key' in r,
    })),
  })
  const included = useQueries({ queries: relations.map((r) => includedQuery(workspace.id, r.dataset, dataset, id)) })
  const query = useQuery({ ...recordQuery(workspace.id, dataset, id), enabled: false })
  const groups = relations.map((r, i): Group => ({
    ...r,
    count: 'ids' in r ? r.ids.length : counted[i]?.data?.count,
    included: included[i]?.data,
  }))
  return {
    groups,
    load: () => void query.refetch(),
    busy: query.isFetching,
    error: groups.some((g) => g.included === undefined) ? query.error : null,
  }
}

/** The number of rows that one search reads beyond the included ones. */
const pageSize = 100

/** useRelatedRows are the related records that a filter finds: the included ones, and more by search. */
export function useRelatedRows(group: FilterGroup, of: string) {
  const { workspace } = useSearch()
  const { dataset, key, sort, count, included } = group
  const query = useInfiniteQuery(rowsQuery(workspace.id, dataset, filterOf(key, of), sort, pageSize))
  const rows = query.data?.pages.flatMap((p) => p.rows)
  const read = new Set(rows?.map((r) => r.id))
  const records = rows || included ? [...(rows ?? []), ...(included ?? []).filter((r) => !read.has(r.id))] : undefined
  return {
    query,
    records: sort ? records?.sort(byLatest) : records,
    /** The number of rows that the next search reads. */
    next: records && records.length >= (count ?? 0) ? 0 : Math.min(pageSize, (count ?? 0) - (rows?.length ?? 0)),
    /** Whether a search has read some. */
    begun: rows !== undefined,
  }
}

const byLatest = (a: AnyRecord, b: AnyRecord) =>
  (a as Records['signals']).occurred_at < (b as Records['signals']).occurred_at ? 1 : -1
