import type { Map as MapGL } from 'maplibre-gl'
import { useState } from 'react'
import { distance, formatMetres, nearPoint, withinBox, type Place } from '../search/place'
import { pointUnder, type Point } from './point'
import { useEscape } from './use-escape'

/** Shape is what is drawn: a box or a circle by a drag, a polygon by clicks. */
export type Shape = 'box' | 'circle' | 'polygon'
type Dragged = Exclude<Shape, 'polygon'>

interface Props {
  map: MapGL
  shape: Dragged
  onDraw: (place: Place) => void
  onCancel: () => void
}

/** What is smaller than this is a click, in pixels. */
const minSize = 4

/** Draw lies over the map and takes one drag: from corner to corner, or from the centre out. */
export function Draw({ map, shape, onDraw, onCancel }: Props) {
  const [drag, setDrag] = useState<{ from: Point; to: Point }>()
  useEscape(onCancel)
  const finish = () => {
    if (!drag) return
    setDrag(undefined)
    if (Math.hypot(drag.to[0] - drag.from[0], drag.to[1] - drag.from[1]) < minSize) return
    onDraw(placeOf(map, shape, drag.from, drag.to))
  }
  return (
    <svg
      className="draw"
      role="img"
      aria-label={shape === 'box' ? 'Drag a box over the map' : 'Drag a circle over the map'}
      onPointerDown={(e) => {
        if (e.button !== 0) return
        e.currentTarget.setPointerCapture(e.pointerId)
        const at = pointUnder(e)
        setDrag({ from: at, to: at })
      }}
      onPointerMove={(e) => drag && setDrag({ ...drag, to: pointUnder(e) })}
      onPointerUp={finish}
      onPointerCancel={() => setDrag(undefined)}
    >
      {drag && <Drawn map={map} shape={shape} {...drag} />}
    </svg>
  )
}

function Drawn({ map, shape, from, to }: { map: MapGL; shape: Dragged; from: Point; to: Point }) {
  const width = Math.abs(to[0] - from[0])
  const height = Math.abs(to[1] - from[1])
  if (shape === 'box')
    return <rect x={Math.min(from[0], to[0])} y={Math.min(from[1], to[1])} width={width} height={height} />
  const place = placeOf(map, shape, from, to)
  return (
    <>
      <circle cx={from[0]} cy={from[1]} r={Math.hypot(width, height)} />
      <line x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} />
      <text x={to[0] + 8} y={to[1] - 8}>
        {'near' in place && formatMetres(place.near.radius_m)}
      </text>
    </>
  )
}

/** placeOf is the condition of a drag. */
function placeOf(map: MapGL, shape: Dragged, from: Point, to: Point): Place {
  const a = map.unproject(from)
  const b = map.unproject(to)
  const centre = { latitude: a.lat, longitude: a.lng }
  if (shape === 'circle')
    return nearPoint({ ...centre, radius_m: distance(centre, { latitude: b.lat, longitude: b.lng }) })
  return withinBox({
    north: Math.max(a.lat, b.lat),
    south: Math.min(a.lat, b.lat),
    east: Math.max(a.lng, b.lng),
    west: Math.min(a.lng, b.lng),
  })
}
