import { useEffect, useRef } from 'react'
import { useSearch } from '../search/context'
import { withinBox, type Box, type Place } from '../search/place'
import { withCondition } from '../search/state'
import { maxZoom, type Cell } from './tiles'
import type { Viewport } from './use-cells'
import { formatView, viewOfBox, type View } from './view'

/** How much a click on a cell zooms in; where it cannot, it filters. */
const zoomStep = 2

/** useMapActions has the actions of the map on the search: another view, or a condition on the location. */
export function useMapActions(drawable: boolean, viewport: Viewport | undefined) {
  const { state, change } = useSearch()
  const fitted = useFittedSearch()
  const look = (view: View) => change({ ...state, at: formatView(view) }, { replace: true })
  const filter = (place: Place) => change(withCondition(fitted, 'location', place))
  const canZoom = drawable && viewport !== undefined && viewport.view.zoom < maxZoom
  return {
    look,
    zoom: (by: number) =>
      viewport && look({ ...viewport.view, zoom: Math.min(maxZoom, Math.max(0, viewport.view.zoom + by)) }),
    /** Undefined until something is visible. */
    show: viewport && ((box: Box) => look(viewOfBox(box, viewport))),
    fit: () => change(fitted, { replace: true }),
    filter,
    /** Undefined until something is visible. */
    filterSight: viewport && (() => filter(withinBox(viewport.box))),
    onlyUnknown: () => change(withCondition(fitted, 'location', { kind: 'known', known: false })),
    clear: () => change(withCondition(state, 'location', undefined)),
    open: (id: string) => change({ ...state, record: id }, { replace: state.record !== undefined }),
    choose: ({ latitude, longitude, box }: Cell) => {
      if (canZoom) look({ latitude, longitude, zoom: Math.min(maxZoom, viewport.view.zoom + zoomStep) })
      else filter(withinBox(box))
    },
    /** What choose does. */
    action: canZoom ? 'Zoom in' : 'Only these',
  }
}

/** useFittedSearch is the search fitted to the map. Another search is refitted, unless the address has a view. */
function useFittedSearch() {
  const { state, body, change } = useSearch()
  const { at: _, ...fitted } = state
  const searched = JSON.stringify(body)
  const before = useRef({ searched, at: state.at })
  useEffect(() => {
    const same = before.current.at === state.at
    if (before.current.searched !== searched && same && state.at !== undefined) change(fitted, { replace: true })
    before.current = { searched, at: state.at }
  })
  return fitted
}
