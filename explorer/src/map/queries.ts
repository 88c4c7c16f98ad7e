import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { Body } from '../api/body'
import { facetsQuery } from '../api/queries'
import { findExtent, inBox } from './tiles'

/** cellsRequest counts cells of the search itself, its own place included. */
export const cellsRequest = (precision: number) => [{ geo: { precision }, exclude_own: false }]

/** extentQuery finds where the projects of a search are, with a few free requests. */
export function extentQuery(client: QueryClient, workspace: string, body: Body) {
  return queryOptions({
    queryKey: ['extent', workspace, body],
    staleTime: 60_000,
    queryFn: () =>
      findExtent(async (precision, box) => {
        const within = box ? inBox(body, box) : body
        const counts = await client.fetchQuery(facetsQuery(workspace, 'projects', within, cellsRequest(precision)))
        return counts.facets[0]?.geo ?? []
      }),
  })
}
