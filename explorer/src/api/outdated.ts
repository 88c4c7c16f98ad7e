import { queryOptions } from '@tanstack/react-query'
import { datasets, type Dataset } from '../datasets'
import { answer, api } from './client'

/** Release names the release of each dataset. */
export type Release = Partial<Record<Dataset, string>>

/** releaseQuery reads the served release, which is free. */
export const releaseQuery = queryOptions({
  queryKey: ['release'],
  staleTime: 60_000,
  queryFn: async (): Promise<Release> => {
    const { generation, datasets: all } = (await answer(api.GET('/data/release'))).data
    return Object.fromEntries(datasets.map((d) => [d, `${generation} ${all[d].version}`]))
  },
})

/** outdatedQuery has the ids of visible records that have changed, or were deleted, since they were read. */
export const outdatedQuery = (workspace: string, dataset: Dataset) =>
  queryOptions<ReadonlySet<string>>({
    queryKey: ['outdated', workspace, dataset],
    queryFn: () => new Set<string>(),
    initialData: new Set<string>(),
    structuralSharing: false,
    enabled: false,
    staleTime: Infinity,
    gcTime: Infinity,
  })
