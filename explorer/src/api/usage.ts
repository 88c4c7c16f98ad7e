import { queryOptions } from '@tanstack/react-query'
import { answer, api } from './client'

/** usageQuery reads the credits that the workspace has used, by operation and by hour. */
export const usageQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['usage', workspace],
    // It includes the last seconds.
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const params = { query: { workspace_id: workspace } }
      return (await answer(api.GET('/data/usage', { params, signal }))).data
    },
  })
