import type { Map as MapGL } from 'maplibre-gl'
import { useEffect, useRef, useState } from 'react'
import { insidePolygon, type Place } from '../search/place'
import { crosses, fewestCorners, mostCorners, polygonProblem, type Corner } from '../search/polygon'

interface Props {
  map: MapGL
  /** The corners of an area that is changed. */
  corners: Corner[] | undefined
  onDraw: (place: Place) => void
  onCancel: () => void
}

type Point = [number, number]

/** Steps of the arrow keys, in pixels; with Shift the longer one. */
const step = { short: 8, long: 48 }
/** A click this near to a corner is on it, in pixels. */
const near = 9
const arrows: Record<string, Point> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

/**
 * DrawPolygon lies over the map and takes a corner by each click. Enter, a double click or a click on the first corner
 * closes the area; corners can be dragged. With keys the arrows move a cross, the space bar puts a corner there.
 */
export function DrawPolygon({ map, corners: before, onDraw, onCancel }: Props) {
  const [corners, setCorners] = useState<Corner[]>(before ?? [])
  const [cross, setCross] = useState<Point>()
  const [dragged, setDragged] = useState<number>()
  const svg = useRef<SVGSVGElement>(null)
  useEffect(() => svg.current?.focus({ preventScroll: true }), [])
  const project = (c: Corner): Point => {
    const { x, y } = map.project([c.longitude, c.latitude])
    return [x, y]
  }
  const cornerAt = (at: Point): Corner => {
    const { lng, lat } = map.unproject(at)
    return { latitude: Math.min(90, Math.max(-90, lat)), longitude: Math.min(180, Math.max(-180, lng)) }
  }
  const points = corners.map(project)
  const hit = (at: Point) => points.findIndex(([x, y]) => Math.hypot(x - at[0], y - at[1]) <= near)
  const closed = before !== undefined
  const problem =
    corners.length >= fewestCorners
      ? polygonProblem(corners)
      : crosses(corners, false)
        ? 'The border crosses itself.'
        : undefined
  const finish = () => {
    const place = insidePolygon(corners)
    if (place) onDraw(place)
  }
  const add = (at: Point) => {
    if (corners.length >= mostCorners) return
    const on = hit(at)
    if (on === 0 && !closed && corners.length >= fewestCorners) finish()
    else if (on < 0) setCorners(corners.toSpliced(closed ? edgeNear(points, at) + 1 : corners.length, 0, cornerAt(at)))
  }
  const pointOf = (e: React.PointerEvent): Point => {
    const { left, top } = e.currentTarget.getBoundingClientRect()
    return [e.clientX - left, e.clientY - top]
  }
  const keys = (e: React.KeyboardEvent) => {
    const arrow = arrows[e.key]
    if (arrow) {
      const { clientWidth, clientHeight } = map.getContainer()
      const [x, y] = cross ?? [clientWidth / 2, clientHeight / 2]
      const by = e.shiftKey ? step.long : step.short
      const within = (n: number, most: number) => Math.min(most, Math.max(0, n))
      setCross([within(x + arrow[0] * by, clientWidth), within(y + arrow[1] * by, clientHeight)])
    } else if (e.key === ' ') {
      const { clientWidth, clientHeight } = map.getContainer()
      const at: Point = cross ?? [clientWidth / 2, clientHeight / 2]
      setCross(at)
      add(at)
    } else if (e.key === 'Enter') finish()
    else if (e.key === 'Backspace' || e.key === 'Delete') setCorners(corners.slice(0, -1))
    else return
    e.preventDefault()
    e.stopPropagation()
  }
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      if (e.key !== 'Escape') return
      e.preventDefault()
      onCancel()
    }
    addEventListener('keydown', listen, true)
    return () => removeEventListener('keydown', listen, true)
  }, [onCancel])
  const line = points.map((p) => p.join(',')).join(' ')
  return (
    <>
      <svg
        ref={svg}
        className="draw"
        role="application"
        tabIndex={0}
        aria-label="Draw an area: arrow keys move the cross, the space bar puts a corner, Enter closes the area"
        aria-describedby="draw-state"
        onKeyDown={keys}
        onPointerDown={(e) => {
          if (e.button !== 0) return
          const on = hit(pointOf(e))
          if (on < 0 || (on === 0 && !closed && corners.length >= fewestCorners)) return
          e.currentTarget.setPointerCapture(e.pointerId)
          setDragged(on)
        }}
        onPointerMove={(e) => {
          const at = pointOf(e)
          if (dragged !== undefined) setCorners(corners.with(dragged, cornerAt(at)))
          else if (e.pointerType === 'mouse') setCross(at)
        }}
        onPointerUp={() => setDragged(undefined)}
        onPointerCancel={() => setDragged(undefined)}
        onClick={(e) => {
          const { left, top } = e.currentTarget.getBoundingClientRect()
          // The second click of a double click is on the corner of the first.
          if (e.detail < 2) add([e.clientX - left, e.clientY - top])
        }}
        onDoubleClick={finish}
      >
        {closed || corners.length >= fewestCorners ? <polygon points={line} /> : <polyline points={line} />}
        {!closed && cross && points.length > 0 && (
          <line className="next" x1={points.at(-1)?.[0]} y1={points.at(-1)?.[1]} x2={cross[0]} y2={cross[1]} />
        )}
        {points.map(([x, y], i) => (
          <circle key={i} className="corner" cx={x} cy={y} r={5} />
        ))}
        {cross && <path className="cross" d={`M${cross[0] - 7} ${cross[1]}h14M${cross[0]} ${cross[1] - 7}v14`} />}
      </svg>
      <div className="draw-bar">
        <p id="draw-state" role="status">
          {problem ?? said(corners.length)}
        </p>
        <button className="button" onClick={onCancel}>
          Cancel
        </button>
        <button className="button primary" disabled={!insidePolygon(corners)} onClick={finish}>
          Done
        </button>
      </div>
    </>
  )
}

function said(corners: number): string {
  if (corners === 0) return 'Click the corners of an area.'
  if (corners < fewestCorners) return `${corners} of at least ${fewestCorners} corners.`
  return `${corners} corners. Enter or a double click closes the area.`
}

/** edgeNear is the edge that is nearest to a point: the number of its first corner. */
function edgeNear(points: Point[], [x, y]: Point): number {
  const away = points.map(([ax, ay], i) => {
    const [bx, by] = points[(i + 1) % points.length] ?? [ax, ay]
    const length = (bx - ax) ** 2 + (by - ay) ** 2
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length))
    return Math.hypot(ax + along * (bx - ax) - x, ay + along * (by - ay) - y)
  })
  return away.indexOf(Math.min(...away))
}
