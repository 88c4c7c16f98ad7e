import { queryOptions, useQueries, useQueryClient } from '@tanstack/react-query'
import { facetsQuery, findLoaded } from '../api/queries'
import { datasets, relationOf, type Dataset } from '../datasets'
import type { Conditions, KindOf } from './conditions'
import { namedValues } from './phrases'
import type { SearchState } from './state'

/** namedBy is the dataset whose ids a field has. */
export const namedBy = (field: string) => datasets.find((d) => d === `${field.replace(/_ids?$/, '')}s`)

/** nameQuery finds the name of a record by its id. */
export const nameQuery = (workspace: string, dataset: Dataset, id: string) =>
  queryOptions<string | null>({ queryKey: ['name', workspace, dataset, id], staleTime: Infinity, gcTime: Infinity })

/** idsOf lists the ids that conditions name. */
function idsOf(conditions: Conditions, dataset: Dataset, kindOf: KindOf): { dataset: Dataset; id: string }[] {
  return Object.entries(conditions).flatMap(([key, c]) => {
    if (c.kind === 'related') return idsOf(c.conditions, relationOf(key)?.dataset ?? dataset, kindOf)
    const named = c.kind === 'values' && kindOf(dataset, key) === 'id' ? namedBy(key) : undefined
    return named && c.kind === 'values' ? namedValues(c.values).map((id) => ({ dataset: named, id })) : []
  })
}

/**
 * useNames finds the names of the records whose ids a search has, for free: from loaded rows,
 * from choices by name, and for firms from a facet of their projects.
 */
export function useNames(workspace: string, state: SearchState, kindOf: KindOf): Record<string, string> {
  const client = useQueryClient()
  const all = [state.conditions, ...(state.any ?? []), ...(state.none ?? [])]
  const ids = all.flatMap((c) => idsOf(c, state.dataset, kindOf))
  return useQueries({
    queries: ids.map(({ dataset, id }) => ({
      ...nameQuery(workspace, dataset, id),
      queryFn: async () => {
        const loaded = findLoaded(client, workspace, dataset, id)
        if (loaded && 'name' in loaded) return loaded.name
        if (dataset !== 'accounts') return null
        const body = { filters: { account_ids: { value: id } } }
        const counts = await client.fetchQuery(
          facetsQuery(workspace, 'projects', body, [{ field: 'account_ids', limit: 5 }]),
        )
        return counts.facets[0]?.values?.find((v) => v.value === id)?.label ?? null
      },
    })),
    combine: (names) =>
      Object.fromEntries(ids.flatMap(({ id }, i) => (names[i]?.data ? [[id, names[i].data] as const] : []))),
  })
}
