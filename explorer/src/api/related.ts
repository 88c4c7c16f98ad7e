import { queryOptions, skipToken, type QueryClient } from '@tanstack/react-query'
import { datasets, type AnyRecord, type Dataset } from '../datasets'

// A record includes related records at no extra cost.

/** The maximum number of included records of each dataset. */
export const maxIncluded = 25

/** The keys of included records, by dataset. */
export const includes: Record<Dataset, string[]> = {
  projects: ['signals', 'accounts', 'contacts'],
  accounts: ['projects', 'contacts', 'signals'],
  contacts: ['projects', 'account'],
  signals: ['project', 'accounts'],
}

/**
 * includedQuery has the related records of one dataset that a loaded record includes. Its key is
 * among the batches, so that nothing is paid for twice.
 */
export const includedQuery = (workspace: string, dataset: Dataset, of: Dataset, id: string) =>
  queryOptions<AnyRecord[]>({
    queryKey: ['batch', workspace, dataset, `${of} ${id}`],
    queryFn: skipToken,
    staleTime: Infinity,
    gcTime: Infinity,
  })

/** splitIncluded splits a record into the record itself and the included ones by dataset. */
export function splitIncluded(dataset: Dataset, answer: AnyRecord): [AnyRecord, Map<Dataset, AnyRecord[]>] {
  const keys = includes[dataset]
  const members = Object.entries(answer)
  const related = new Map<Dataset, AnyRecord[]>()
  for (const [key, value] of members as [string, AnyRecord[] | AnyRecord | null][]) {
    const of = keys.includes(key) && datasets.find((d) => d === key || d === `${key}s`)
    if (of) related.set(of, Array.isArray(value) ? value : value ? [value] : [])
  }
  return [Object.fromEntries(members.filter(([key]) => !keys.includes(key))) as unknown as AnyRecord, related]
}

/** cacheIncluded caches the included records, and returns the record without them. */
export function cacheIncluded(client: QueryClient, workspace: string, dataset: Dataset, answer: AnyRecord): AnyRecord {
  const [record, related] = splitIncluded(dataset, answer)
  for (const [of, found] of related) {
    const { queryKey, gcTime = Infinity } = includedQuery(workspace, of, dataset, record.id)
    // It is cached as long as the record, even without observers.
    client.getQueryCache().build(client, { queryKey, gcTime })
    client.setQueryData(queryKey, found)
  }
  return record
}
