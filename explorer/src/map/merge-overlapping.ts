import type { Cell } from './tiles'

/** PlacedCell is a cell where it is drawn, in pixels. */
export interface PlacedCell {
  cell: Cell
  x: number
  y: number
}

/** The share of two circles' radii that may lie over each other. */
const overlap = 0.15

/**
 * mergeOverlapping merges cells whose circles would hide the numbers of others: the larger one absorbs the
 * smaller, its count and its place. Cells come in the order of their counts.
 */
export function mergeOverlapping(cells: PlacedCell[], sizeOf: (count: number) => number): PlacedCell[] {
  const shown: PlacedCell[] = []
  for (const next of cells) {
    const near = shown.findIndex(({ cell, x, y }) => {
      const room = ((sizeOf(cell.count) + sizeOf(next.cell.count)) / 2) * (1 - overlap)
      return Math.hypot(x - next.x, y - next.y) < room
    })
    const over = shown[near]
    if (over) shown[near] = { ...over, cell: joined(over.cell, next.cell) }
    else shown.push(next)
  }
  if (shown.length === cells.length) return shown
  // A circle that has grown may hide others.
  return mergeOverlapping(
    shown.sort((a, b) => b.cell.count - a.cell.count),
    sizeOf,
  )
}

function joined(a: Cell, b: Cell): Cell {
  return {
    ...a,
    count: a.count + b.count,
    box: {
      north: Math.max(a.box.north, b.box.north),
      south: Math.min(a.box.south, b.box.south),
      east: Math.max(a.box.east, b.box.east),
      west: Math.min(a.box.west, b.box.west),
    },
  }
}
