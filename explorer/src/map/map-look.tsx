import './map.css'
import { lazy, Suspense, useMemo, useState } from 'react'
import { link } from '../address'
import { AddToBoard } from '../boards/add-to-board'
import { tileOf } from '../boards/tile'
import { capital, counted, nouns, type AnyRecord, type Dataset } from '../datasets'
import { useSearch } from '../search/context'
import { around } from '../search/place'
import { Notice } from '../ui/notice'
import type { Shape } from './draw'
import { GoTo } from './go-to'
import { MapTools, MapZoom } from './map-tools'
import { PlacesTable } from './places-table'
import { precisionOf, unloaded } from './tiles'
import { useCells, type Viewport } from './use-cells'
import { useMapActions } from './use-map-actions'
import { parseView } from './view'
import { hasWebGL } from './webgl'

// MapLibre is not loaded where it cannot draw.
const MapCanvas = lazy(() => import('./map-canvas'))

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

function MapOfProjects({ rows }: { rows: AnyRecord[] }) {
  const { workspace, state, body } = useSearch()
  const [drawable] = useState(hasWebGL)
  const [asTable, setAsTable] = useState(false)
  const [shape, setShape] = useState<Shape>()
  const [sight, setSight] = useState<Viewport>()
  const { extent, near, unknown, cells, retry } = useCells(drawable, sight)
  const circles = useMemo(() => unloaded(cells, rows), [cells, rows])
  const moves = useMapActions(drawable, sight)
  const error = extent.error ?? near.error
  const condition = state.conditions.location
  const area = condition?.kind === 'place' ? condition : undefined
  return (
    <div className="look map-look">
      <div className="look-bar">
        {drawable && (
          <MapTools shape={shape} draw={setShape} area={area} clear={moves.clear} choose={moves.filterSight} />
        )}
        {unknown > 0 && (
          <button className="link" onClick={moves.onlyUnknown}>
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
        <Notice error={error} retry={retry} />
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
                  action={moves.action}
                  onViewportChange={setSight}
                  onMove={moves.look}
                  onCell={moves.choose}
                  onRow={moves.open}
                  onDraw={(drawn) => {
                    setShape(undefined)
                    if (drawn) moves.filter(drawn)
                  }}
                />
              </Suspense>
              {moves.show && !shape && <GoTo show={moves.show} />}
              <MapZoom zoom={moves.zoom} all={moves.fit} />
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
              <PlacesTable cells={cells} action={moves.action} choose={moves.choose} />
            </div>
          )}
        </div>
      )}
    </div>
  )
}
