import type { Map as MapGL } from 'maplibre-gl'
import { useState } from 'react'
import { insidePolygon, type Place } from '../search/place'
import { crosses, minCorners, maxCorners, polygonProblem, type Corner } from '../search/polygon'
import type { Point } from './point'

/** A click this near to a corner is on it, in pixels. */
const near = 9

/** useCorners has the corners of an area while it is drawn or changed. before are those of an area that is changed. */
export function useCorners(map: MapGL, before: Corner[] | undefined, onDraw: (place: Place) => void) {
  const [corners, setCorners] = useState<Corner[]>(before ?? [])
  const [dragged, setDragged] = useState<number>()
  const closed = before !== undefined
  const enough = corners.length >= minCorners
  const points = corners.map((c): Point => {
    const { x, y } = map.project([c.longitude, c.latitude])
    return [x, y]
  })
  const cornerAt = (at: Point): Corner => {
    const { lng, lat } = map.unproject(at)
    return { latitude: Math.min(90, Math.max(-90, lat)), longitude: Math.min(180, Math.max(-180, lng)) }
  }
  const hit = (at: Point) => points.findIndex(([x, y]) => Math.hypot(x - at[0], y - at[1]) <= near)
  /** A click on the first corner closes the area. */
  const closes = (on: number) => on === 0 && !closed && enough
  const place = insidePolygon(corners)
  const finish = () => {
    if (place) onDraw(place)
  }
  return {
    count: corners.length,
    points,
    /** The border is a whole one from the beginning. */
    closed,
    /** The corners make an area. */
    enough,
    problem: enough ? polygonProblem(corners) : crosses(corners, false) ? 'The border crosses itself.' : undefined,
    done: place !== undefined,
    finish,
    add: (at: Point) => {
      if (corners.length >= maxCorners) return
      const on = hit(at)
      if (closes(on)) finish()
      else if (on < 0)
        setCorners(corners.toSpliced(closed ? edgeNear(points, at) + 1 : corners.length, 0, cornerAt(at)))
    },
    removeLast: () => setCorners(corners.slice(0, -1)),
    /** grab begins to drag the corner at a point, and reports whether there is one. */
    grab: (at: Point): boolean => {
      const on = hit(at)
      if (on < 0 || closes(on)) return false
      setDragged(on)
      return true
    },
    /** drag moves the corner that is dragged, and reports whether there is one. */
    drag: (at: Point): boolean => {
      if (dragged === undefined) return false
      setCorners(corners.with(dragged, cornerAt(at)))
      return true
    },
    drop: () => setDragged(undefined),
  }
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
