import './map.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { link } from '../address'
import { facetsQuery } from '../api/queries'
import { AddToBoard } from '../boards/add-to-board'
import { tileOf } from '../boards/tile'
import { capital, counted, nouns, type AnyRecord, type Dataset } from '../datasets'
import { useSearch } from '../search/context'
import { around, withinBox, type Box, type Place } from '../search/place'
import { withCondition } from '../search/state'
import { Notice } from '../ui/notice'
import type { Shape } from './draw'
import { GoTo } from './go-to'
import { MapTools, MapZoom } from './map-tools'
import { PlacesTable } from './places-table'
import { cellsRequest, extentQuery } from './queries'
import { cellsOf, inBox, maxZoom, precisionOf, unloaded, type Cell } from './tiles'
import { formatView, parseView, viewOfBox, type View } from './view'
import { hasWebGL } from './webgl'

// MapLibre is not loaded where it cannot draw.
const MapCanvas = lazy(() => import('./map-canvas'))

/** How much a click on a cell zooms in; where it cannot, it filters. */
const closer = 2

/** MapLook shows where the projects of a search are. Cells are counted, which is free; points are rows that are loaded. */
export default function MapLook({ rows }: { rows: AnyRecord[] }) {
  const { dataset } = useSearch().state
  return dataset === 'projects' ? <MapOfProjects rows={rows} /> : <NoLocation dataset={dataset} />
}

function NoLocation({ dataset }: { dataset: Dataset }) {
  const many = capital(nouns[dataset].many)
  return (
    <div className="notice">
      <h2>{many} have no location</h2>
      <p>A map shows projects. {many} are seen in the table and in charts.</p>
      <a className="button" {...link('/projects?look=map')}>
        Map of projects
      </a>
    </div>
  )
}

interface Sight {
  box: Box
  view: View
}

function MapOfProjects({ rows }: { rows: AnyRecord[] }) {
  const { workspace, state, body, change } = useSearch()
  const [drawable] = useState(hasWebGL)
  const [asTable, setAsTable] = useState(false)
  const [shape, setShape] = useState<Shape>()
  const [sight, setSight] = useState<Sight>()
  const { extent, near, unknown, cells, again } = useCells(drawable, sight)
  const circles = useMemo(() => unloaded(cells, rows), [cells, rows])
  const fitted = useFitted()
  const look = (view: View) => change({ ...state, at: formatView(view) }, { replace: true })
  const zoom = (by: number) =>
    sight && look({ ...sight.view, zoom: Math.min(maxZoom, Math.max(0, sight.view.zoom + by)) })
  const filter = (place: Place) => change(withCondition(fitted, 'location', place))
  const canZoom = drawable && sight !== undefined && sight.view.zoom < maxZoom
  const choose = ({ latitude, longitude, box }: Cell) => {
    if (canZoom) look({ latitude, longitude, zoom: Math.min(maxZoom, sight.view.zoom + closer) })
    else filter(withinBox(box))
  }
  const action = canZoom ? 'Zoom in' : 'Only these'
  const error = extent.error ?? near.error
  const condition = state.conditions.location
  const area = condition?.kind === 'place' ? condition : undefined
  return (
    <div className="look map-look">
      <div className="look-bar">
        {drawable && (
          <MapTools
            shape={shape}
            draw={setShape}
            area={area}
            clear={() => change(withCondition(state, 'location', undefined))}
            choose={sight && (() => filter(withinBox(sight.box)))}
          />
        )}
        {unknown > 0 && (
          <button
            className="link"
            onClick={() => change(withCondition(fitted, 'location', { kind: 'known', known: false }))}
          >
            {counted(unknown, 'projects')} without a known location
          </button>
        )}
        <div className="look-actions">
          {extent.data && (
            <AddToBoard
              workspace={workspace.id}
              tile={tileOf('Where the projects are', 'projects', body, {
                kind: 'map',
                precision: precisionOf(extent.data.cells),
              })}
            />
          )}
          {drawable && (
            <button className="button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
              Table of places
            </button>
          )}
        </div>
      </div>
      {error && cells.length === 0 ? (
        <Notice error={error} retry={again} />
      ) : extent.data === null ? (
        <p className="notice">No project of this search has a known location.</p>
      ) : (
        <div className="map-columns">
          {drawable && (
            <div className="map">
              <Suspense fallback={<div className="skeleton map-skeleton" role="status" aria-label="Loading the map" />}>
                <MapCanvas
                  view={parseView(state.at)}
                  fit={area ? around(area) : extent.data?.box}
                  cells={circles}
                  rows={rows}
                  place={shape === 'polygon' ? undefined : area}
                  corners={area && 'polygon' in area ? area.polygon : undefined}
                  shape={shape}
                  action={action}
                  onSight={setSight}
                  onMove={look}
                  onCell={choose}
                  onRow={(id) => change({ ...state, record: id }, { replace: state.record !== undefined })}
                  onDraw={(drawn) => {
                    setShape(undefined)
                    if (drawn) filter(drawn)
                  }}
                />
              </Suspense>
              {sight && !shape && <GoTo show={(box) => look(viewOfBox(box, sight))} />}
              <MapZoom zoom={zoom} all={() => change(fitted, { replace: true })} />
              {(!near.data || cells.length === 0) && (
                <p className="map-state" role="status">
                  {near.data ? 'No project of this search is in sight.' : 'Counting…'}
                </p>
              )}
            </div>
          )}
          {(asTable || !drawable) && (
            <div className="map-side">
              {!drawable && (
                <p className="quiet">
                  This browser cannot draw the map, because it has no WebGL. These are the places.
                </p>
              )}
              <PlacesTable cells={cells} action={action} choose={choose} />
            </div>
          )}
        </div>
      )}
    </div>
  )
}

/** useCells counts where the projects of the search are: overall, and in more detail the visible ones. */
function useCells(drawable: boolean, sight: Sight | undefined) {
  const { workspace, body } = useSearch()
  const extent = useQuery(extentQuery(useQueryClient(), workspace.id, body))
  const all = useQuery(facetsQuery(workspace.id, 'projects', body, cellsRequest(0)))
  const wanted = sight && cellsOf(sight.box, sight.view.zoom)
  const near = useQuery({
    ...facetsQuery(
      workspace.id,
      'projects',
      inBox(body, wanted?.box ?? everywhere),
      cellsRequest(wanted?.precision ?? 0),
    ),
    enabled: wanted !== undefined,
  })
  return {
    extent,
    near,
    unknown: all.data?.facets[0]?.unknown ?? 0,
    cells: (drawable ? near.data?.facets[0]?.geo : extent.data?.cells) ?? none,
    again: () => {
      void extent.refetch()
      if (wanted) void near.refetch()
    },
  }
}

/** useFitted is the search fitted to the map. Another search is fitted again, unless the address has a view. */
function useFitted() {
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

const none: Cell[] = []
const everywhere: Box = { north: 90, south: -90, east: 180, west: -180 }
