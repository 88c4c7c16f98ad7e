import type { Map as MapGL } from 'maplibre-gl'
import { useEffect, useRef, useState } from 'react'
import type { Place } from '../search/place'
import { minCorners, type Corner } from '../search/polygon'
import { pointUnder, type Point } from './point'
import { useCorners } from './use-corners'
import { useEscape } from './use-escape'

interface Props {
  map: MapGL
  /** The corners of an area that is changed. */
  corners: Corner[] | undefined
  onDraw: (place: Place) => void
  onCancel: () => void
}

/** Steps of the arrow keys, in pixels; with Shift the longer one. */
const step = { short: 8, long: 48 }
const arrows: Record<string, Point> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

/**
 * DrawPolygon lies over the map and takes a corner by each click. Enter, a double click or a click on the first corner
 * closes the area; corners can be dragged. With keys the arrows move a cross, the space bar puts a corner there.
 */
export function DrawPolygon({ map, corners: before, onDraw, onCancel }: Props) {
  const { count, points, closed, enough, problem, done, finish, add, removeLast, grab, drag, drop } = useCorners(
    map,
    before,
    onDraw,
  )
  const [cross, setCross] = useState<Point>()
  const svg = useRef<SVGSVGElement>(null)
  useEffect(() => svg.current?.focus({ preventScroll: true }), [])
  useEscape(onCancel)
  const keys = (e: React.KeyboardEvent) => {
    const { clientWidth, clientHeight } = map.getContainer()
    const at: Point = cross ?? [clientWidth / 2, clientHeight / 2]
    const arrow = arrows[e.key]
    if (arrow) {
      const by = e.shiftKey ? step.long : step.short
      const within = (n: number, most: number) => Math.min(most, Math.max(0, n))
      setCross([within(at[0] + arrow[0] * by, clientWidth), within(at[1] + arrow[1] * by, clientHeight)])
    } else if (e.key === ' ') {
      setCross(at)
      add(at)
    } else if (e.key === 'Enter') finish()
    else if (e.key === 'Backspace' || e.key === 'Delete') removeLast()
    else return
    e.preventDefault()
    e.stopPropagation()
  }
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
          if (e.button === 0 && grab(pointUnder(e))) e.currentTarget.setPointerCapture(e.pointerId)
        }}
        onPointerMove={(e) => {
          const at = pointUnder(e)
          if (!drag(at) && e.pointerType === 'mouse') setCross(at)
        }}
        onPointerUp={drop}
        onPointerCancel={drop}
        onClick={(e) => {
          // The second click of a double click is on the corner of the first.
          if (e.detail < 2) add(pointUnder(e))
        }}
        onDoubleClick={finish}
      >
        {closed || enough ? <polygon points={line} /> : <polyline points={line} />}
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
          {problem ?? cornerCount(count)}
        </p>
        <button className="button" onClick={onCancel}>
          Cancel
        </button>
        <button className="button primary" disabled={!done} onClick={finish}>
          Done
        </button>
      </div>
    </>
  )
}

function cornerCount(corners: number): string {
  if (corners === 0) return 'Click the corners of an area.'
  if (corners < minCorners) return `${corners} of at least ${minCorners} corners.`
  return `${corners} corners. Enter or a double click closes the area.`
}
