import 'maplibre-gl/dist/maplibre-gl.css'
import type { Map as MapGL, MapLayerMouseEvent, MapLibreEvent } from 'maplibre-gl'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { AnyRecord } from '../datasets'
import { outline, type Box, type Place } from '../search/place'
import type { Corner } from '../search/polygon'
import { Cells } from './cells'
import { Draw, type Shape } from './draw'
import { DrawPolygon } from './draw-polygon'
import { PointCard } from './point-card'
import { pointOf, type Cell } from './tiles'
import { useMap, useSource } from './use-map'
import { boxOfBounds, formatView, padding, viewOf, type View } from './view'

interface Props {
  /** The view to show; absent: everything. */
  view: View | undefined
  fit: Box | undefined
  cells: Cell[]
  rows: AnyRecord[]
  place: Place | undefined
  /** Those of an area that can be changed. */
  corners: Corner[] | undefined
  /** What is being drawn. */
  shape: Shape | undefined
  action: string
  onViewportChange: (sight: { box: Box; view: View }) => void
  /** The user has moved the map. */
  onMove: (view: View) => void
  onCell: (cell: Cell) => void
  onRow: (id: string) => void
  /** No place: the drawing was cancelled. */
  onDraw: (place?: Place) => void
}

/** How long the map moves by itself, in milliseconds. */
const moveAnimation = { duration: 140 }
/** Zoom of a single place. */
const fitZoom = 13

export default function MapCanvas({ view, fit, cells, rows, place, corners, shape, action, ...on }: Props) {
  const element = useRef<HTMLDivElement>(null)
  const { map, credit } = useMap(element, 'Map of projects')
  const handlers = useRef(on)
  useEffect(() => {
    handlers.current = on
  })
  useEffect(() => {
    if (!map) return
    const report = (e?: MapLibreEvent) => {
      handlers.current.onViewportChange({ box: boxOfBounds(map.getBounds()), view: viewOf(map) })
      // Moves by the address and by the size of the page have no event of the user.
      if (e && 'originalEvent' in e && e.originalEvent) handlers.current.onMove(viewOf(map))
    }
    map.on('moveend', report)
    return () => {
      map.off('moveend', report)
    }
  }, [map])
  useView(map, view, fit)

  const points = useMemo(() => rows.flatMap(featureOf), [rows])
  useSource(map, 'points', points)
  const areas = useMemo<GeoJSON.Feature[]>(
    () =>
      place ? [{ type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: [outline(place)] } }] : [],
    [place],
  )
  useSource(map, 'place', areas)
  const hovered = useHovered(map, (id) => handlers.current.onRow(id))
  const record = rows.find((r) => r.id === hovered)
  return (
    <>
      <div ref={element} className="map-canvas" />
      {map && <Cells map={map} cells={cells} action={action} choose={on.onCell} />}
      {map && record && <PointCard map={map} record={record} />}
      {map && shape === 'polygon' && (
        <DrawPolygon map={map} corners={corners} onDraw={on.onDraw} onCancel={() => on.onDraw()} />
      )}
      {map && shape && shape !== 'polygon' && (
        <Draw map={map} shape={shape} onDraw={on.onDraw} onCancel={() => on.onDraw()} />
      )}
      <p className="map-credit">{credit ? `${credit} · Outlines: Natural Earth` : 'Outlines: Natural Earth'}</p>
    </>
  )
}

/** useView moves the map to the view of the address. */
function useView(map: MapGL | undefined, view: View | undefined, fit: Box | undefined) {
  const moved = useRef<MapGL>(undefined)
  const target = view ? formatView(view) : fit ? JSON.stringify(fit) : undefined
  useEffect(() => {
    if (!map || !target) return
    const [latitude = 0, longitude = 0, zoom = 0] = view ? target.split(',').map(Number) : []
    const first = moved.current !== map
    moved.current = map
    if (view) {
      if (target !== formatView(viewOf(map))) {
        map.easeTo({ center: [longitude, latitude], zoom, duration: first ? 0 : moveAnimation.duration })
      } else if (first) map.fire('moveend')
    } else {
      const { north, south, east, west } = JSON.parse(target) as Box
      const box: [number, number, number, number] = [west, Math.max(-85, south), east, Math.min(85, north)]
      map.fitBounds(box, { padding, maxZoom: fitZoom, duration: 0 })
    }
    // eslint-disable-next-line react-hooks/exhaustive-deps -- target says both
  }, [map, target])
}

function featureOf(record: AnyRecord): GeoJSON.Feature[] {
  const coordinates = pointOf(record)
  if (!coordinates) return []
  return [{ type: 'Feature', properties: { id: record.id }, geometry: { type: 'Point', coordinates } }]
}

/** useHovered returns the id of the point under the mouse, and opens the clicked one. */
function useHovered(map: MapGL | undefined, open: (id: string) => void): string | undefined {
  const [id, setID] = useState<string>()
  const opened = useRef(open)
  useEffect(() => {
    opened.current = open
  })
  useEffect(() => {
    if (!map) return
    const idOf = (e: MapLayerMouseEvent) => e.features?.[0]?.properties.id as string | undefined
    const enter = (e: MapLayerMouseEvent) => {
      map.getCanvas().style.cursor = 'pointer'
      setID(idOf(e))
    }
    const leave = () => {
      map.getCanvas().style.cursor = ''
      setID(undefined)
    }
    const click = (e: MapLayerMouseEvent) => {
      const clicked = idOf(e)
      if (clicked) opened.current(clicked)
    }
    map.on('mousemove', 'points', enter)
    map.on('mouseleave', 'points', leave)
    map.on('click', 'points', click)
    return () => {
      map.off('mousemove', 'points', enter)
      map.off('mouseleave', 'points', leave)
      map.off('click', 'points', click)
    }
  }, [map])
  return id
}
