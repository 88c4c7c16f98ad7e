import { useQuery } from '@tanstack/react-query'
import { answer, api, type Schemas } from '../api/client'
import { routeOf } from '../source'
import type { Source } from './job'

/** useCount counts the rows of a search exactly, which is free. */
export function useCount(workspace: string, { dataset, body, ids }: Source, enabled = true) {
  return useQuery({
    queryKey: ['export-count', workspace, dataset, body],
    enabled: !ids && enabled,
    queryFn: async ({ signal }) => {
      const { source, ...conditions } = body
      const request = api.POST(`${routeOf(dataset, source)}/search` as '/data/projects/search', {
        params: { query: { workspace_id: workspace } },
        body: { ...conditions, limit: 1, dry_run: true } as Schemas['ProjectSearchRequest'],
        signal,
      })
      return ((await answer(request)).data as unknown as Schemas['DryRunData']).count
    },
  })
}
