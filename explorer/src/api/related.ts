import { queryOptions, skipToken, type QueryClient } from '@tanstack/react-query'
import { datasets, type AnyRecord, type Dataset } from '../datasets'

// Related records come with a record, for no more than its credit.

/** How many related records of each dataset come with a record at most. */
export const mostIncluded = 25

/** The keys of what comes with a record, by its dataset. */
export const includes: Record<Dataset, string[]> = {
  projects: ['signals', 'accounts', 'contacts'],
  accounts: ['projects', 'contacts', 'signals'],
  contacts: ['projects', 'account'],
  signals: ['project', 'accounts'],
}

/**
 * includedQuery has the related records of one dataset that came with a record, once it was read.
 * They are among the batches, so that nothing of them is paid twice.
 */
export const includedQuery = (workspace: string, dataset: Dataset, of: Dataset, id: string) =>
  queryOptions<AnyRecord[]>({
    queryKey: ['batch', workspace, dataset, `${of} ${id}`],
    queryFn: skipToken,
    staleTime: Infinity,
    gcTime: Infinity,
  })

/** apart is a record without what came with it, and that by dataset. */
export function apart(dataset: Dataset, answer: AnyRecord): [AnyRecord, Map<Dataset, AnyRecord[]>] {
  const keys = includes[dataset]
  const members = Object.entries(answer)
  const related = new Map<Dataset, AnyRecord[]>()
  for (const [key, value] of members as [string, AnyRecord[] | AnyRecord | null][]) {
    const of = keys.includes(key) && datasets.find((d) => d === key || d === `${key}s`)
    if (of) related.set(of, Array.isArray(value) ? value : value ? [value] : [])
  }
  return [Object.fromEntries(members.filter(([key]) => !keys.includes(key))) as unknown as AnyRecord, related]
}

/** keepRelated keeps what came with a record, and returns the record without it. */
export function keepRelated(client: QueryClient, workspace: string, dataset: Dataset, answer: AnyRecord): AnyRecord {
  const [record, related] = apart(dataset, answer)
  for (const [of, found] of related) {
    const { queryKey, gcTime = Infinity } = includedQuery(workspace, of, dataset, record.id)
    // It is kept as long as the record, whoever looks.
    client.getQueryCache().build(client, { queryKey, gcTime })
    client.setQueryData(queryKey, found)
  }
  return record
}
