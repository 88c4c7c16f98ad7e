import type { Map as MapGL } from 'maplibre-gl'
import { useSyncExternalStore } from 'react'
import { createPortal } from 'react-dom'
import { counted } from '../datasets'
import { formatShort } from '../format'
import { mergeOverlapping } from './merge-overlapping'
import type { Cell } from './tiles'

interface Props {
  map: MapGL
  cells: Cell[]
  /** What a click on a cell does. */
  action: string
  choose: (cell: Cell) => void
}

/** Diameters of circles in pixels. The area stands for the count. */
const sizes = { least: 22, most: 52, letter: 7, around: 8 }

/** Cells are circles with counts. They move with the map, and the mouse moves the map over them. */
export function Cells({ map, cells, action, choose }: Props) {
  // Where the map is; a string, because a store compares.
  useSyncExternalStore(
    (notify) => {
      map.on('move', notify)
      map.on('resize', notify)
      return () => {
        map.off('move', notify)
        map.off('resize', notify)
      }
    },
    () => `${map.getCenter()},${map.getZoom()},${map.getContainer().clientWidth}`,
  )
  const most = Math.max(1, ...cells.map((c) => c.count))
  const { clientWidth, clientHeight } = map.getContainer()
  const sizeOf = (count: number) => {
    const byArea = Math.round(sizes.least + (sizes.most - sizes.least) * Math.sqrt(count / most))
    return Math.max(byArea, formatShort(count).length * sizes.letter + sizes.around)
  }
  const placed = cells.map((cell) => ({ cell, ...map.project([cell.longitude, cell.latitude]) }))
  return createPortal(
    mergeOverlapping(placed, sizeOf).map(({ cell, x, y }) => {
      if (x < -sizes.most || y < -sizes.most || x > clientWidth + sizes.most || y > clientHeight + sizes.most)
        return null
      const size = sizeOf(cell.count)
      const name = `${counted(cell.count, 'projects')}. ${action}`
      return (
        <button
          key={`${cell.box.north},${cell.box.west},${cell.box.east}`}
          className="cell-circle"
          style={{ width: size, height: size, transform: `translate(${x - size / 2}px, ${y - size / 2}px)` }}
          // The table of places is the way for keys.
          tabIndex={-1}
          aria-label={name}
          title={name}
          onClick={() => choose(cell)}
        >
          {formatShort(cell.count)}
        </button>
      )
    }),
    map.getCanvasContainer(),
  )
}
