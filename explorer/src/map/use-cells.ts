import { useQuery, useQueryClient } from '@tanstack/react-query'
import { facetsQuery } from '../api/queries'
import { useSearch } from '../search/context'
import type { Box } from '../search/place'
import { cellsRequest, extentQuery } from './queries'
import { cellsOf, inBox, type Cell } from './tiles'
import type { View } from './view'

/** Viewport is what the map shows. */
export interface Viewport {
  box: Box
  view: View
}

const none: Cell[] = []
const everywhere: Box = { north: 90, south: -90, east: 180, west: -180 }

/** useCells counts where the projects of the search are: overall, and in more detail the visible ones. */
export function useCells(drawable: boolean, viewport: Viewport | undefined) {
  const { workspace, body } = useSearch()
  const extent = useQuery(extentQuery(useQueryClient(), workspace.id, body))
  const all = useQuery(facetsQuery(workspace.id, 'projects', body, cellsRequest(0)))
  const request = viewport && cellsOf(viewport.box, viewport.view.zoom)
  const near = useQuery({
    ...facetsQuery(
      workspace.id,
      'projects',
      inBox(body, request?.box ?? everywhere),
      cellsRequest(request?.precision ?? 0),
    ),
    enabled: request !== undefined,
  })
  return {
    extent,
    near,
    unknown: all.data?.facets[0]?.unknown ?? 0,
    cells: (drawable ? near.data?.facets[0]?.geo : extent.data?.cells) ?? none,
    retry: () => {
      void extent.refetch()
      if (request) void near.refetch()
    },
  }
}
