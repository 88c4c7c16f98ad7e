import type { Schemas } from '../api/client'
import type { Body } from '../api/body'
import type { AnyRecord } from '../datasets'
import type { Box } from '../search/place'

export type Cell = Schemas['CellCount']

/** A request for cells has at most this many. */
const maxCells = 2000
const maxPrecision = 18

/** Cells are 54 to 108 pixels wide: a map of zoom 0 is 512 pixels wide. */
const precisionOffset = 2.75

/** The closest that one can zoom in. */
export const maxZoom = Math.ceil(maxPrecision - precisionOffset)

/** Web Mercator ends here, in degrees. */
const edge = 85.0511287798066

const clamp = (n: number, from: number, to: number) => Math.min(to, Math.max(from, n))

/** mercator is the place on a square map whose sides are 1 long, from its north-western corner. */
export function mercator(longitude: number, latitude: number): [number, number] {
  const angle = (clamp(latitude, -edge, edge) * Math.PI) / 180
  return [(longitude + 180) / 360, (1 - Math.log(Math.tan(angle) + 1 / Math.cos(angle)) / Math.PI) / 2]
}

/** Tiles are those of a map of 2^precision by 2^precision; right and bottom are the last ones. */
interface Tiles {
  precision: number
  left: number
  top: number
  right: number
  bottom: number
}

/** tilesOf are the tiles that a box touches. */
export function tilesOf({ north, south, east, west }: Box, precision: number): Tiles {
  const side = 2 ** precision
  const tile = (n: number) => clamp(Math.floor(n * side), 0, side - 1)
  // The end of a box is the end of its last tile, not the start of the next.
  const last = (n: number) => clamp(Math.ceil(n * side - 1e-9) - 1, 0, side - 1)
  const [left, top] = mercator(west, north)
  const [right, bottom] = mercator(east, south)
  return { precision, left: tile(left), top: tile(top), right: last(right), bottom: last(bottom) }
}

/** boxOf is the box of tiles; the outermost ones reach to the poles. */
export function boxOf({ precision, left, top, right, bottom }: Tiles): Box {
  const side = 2 ** precision
  const latitude = (y: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / side))) * 180) / Math.PI
  return {
    north: top === 0 ? 90 : latitude(top),
    south: bottom === side - 1 ? -90 : latitude(bottom + 1),
    east: ((right + 1) / side) * 360 - 180,
    west: (left / side) * 360 - 180,
  }
}

/** How many cells a box can have. A record on its border may be in a tile beyond. */
export function cellsIn(box: Box, precision: number): number {
  const { left, top, right, bottom } = tilesOf(box, precision)
  return (right - left + 2) * (bottom - top + 2)
}

/**
 * cellsOf is what to count for a map: cells of a precision within a box. The box is a little
 * larger than the visible area and jumps by several cells, so that small moves send no new
 * request.
 */
export function cellsOf(viewport: Box, zoom: number): { precision: number; box: Box } {
  for (let precision = clamp(Math.round(zoom + precisionOffset), 0, maxPrecision); ; precision--) {
    const box = boxOf(tilesOf(viewport, Math.max(0, precision - 2)))
    if (precision === 0 || cellsIn(box, precision) <= maxCells) return { precision, box }
  }
}

/**
 * inBox limits a search to a box. Where the search has a place of its own, the box is a
 * group beside it: a request has one filter on a field.
 */
export function inBox(body: Body, box: Box): Body {
  const location = { value: { within: box } }
  if (!body.filters?.location) return { ...body, filters: { ...body.filters, location } }
  const groups = body.any ?? [{ filters: {} }]
  return { ...body, any: groups.map((g) => ({ ...g, filters: { location, ...g.filters } })) }
}

/** pointOf is where a record is, if that is known. */
export function pointOf(record: AnyRecord): [longitude: number, latitude: number] | undefined {
  if (!('latitude' in record) || record.latitude === null || record.longitude === null) return undefined
  return [record.longitude, record.latitude]
}

/** unloaded are the cells with records that are not loaded: the loaded ones are shown as points. */
export function unloaded(cells: Cell[], rows: AnyRecord[]): Cell[] {
  const first = cells[0]
  if (!first || rows.length === 0) return cells
  const side = Math.round(360 / (first.box.east - first.box.west))
  const tileOf = (point: [number, number]) => String(mercator(...point).map((n) => Math.floor(n * side)))
  const loaded = new Map<string, number>()
  for (const row of rows) {
    const point = pointOf(row)
    if (!point) continue
    const tile = tileOf(point)
    loaded.set(tile, (loaded.get(tile) ?? 0) + 1)
  }
  return cells.filter((c) => (loaded.get(tileOf([c.longitude, c.latitude])) ?? 0) < c.count)
}

/** Share of the records that an extent leaves out: places far away from all others. */
const outliers = 0.02

/** extentOf is the box of the cells with the most records; cells come in the order of their counts. */
export function extentOf(cells: Cell[]): Box | undefined {
  const total = cells.reduce((sum, c) => sum + c.count, 0)
  let box: Box | undefined
  let seen = 0
  for (const { count, box: b } of cells) {
    if (seen >= total * (1 - outliers)) break
    seen += count
    box = box
      ? {
          north: Math.max(box.north, b.north),
          south: Math.min(box.south, b.south),
          east: Math.max(box.east, b.east),
          west: Math.min(box.west, b.west),
        }
      : b
  }
  return box
}

/** precisionOf is that of counted cells. */
export function precisionOf([first]: Cell[]): number {
  return first ? Math.round(Math.log2(360 / (first.box.east - first.box.west))) : 0
}

/** middleOf is the middle of the records in cells; undefined without any. */
export function middleOf(cells: Cell[]): { latitude: number; longitude: number } | undefined {
  const total = cells.reduce((sum, c) => sum + c.count, 0)
  if (total === 0) return undefined
  const mean = (of: (c: Cell) => number) => cells.reduce((sum, c) => sum + of(c) * c.count, 0) / total
  return { latitude: mean((c) => c.latitude), longitude: mean((c) => c.longitude) }
}

export interface Extent {
  box: Box
  cells: Cell[]
}

/** Precision of the first look at everything, and how much finer the next looks are. */
const steps = { first: 5, next: 4 }

/** findExtent looks closer until the records fill more than a few cells. */
export async function findExtent(count: (precision: number, box?: Box) => Promise<Cell[]>): Promise<Extent | null> {
  let precision = steps.first
  let cells = await count(precision)
  for (;;) {
    const box = extentOf(cells)
    if (!box) return null
    const { left, top, right, bottom } = tilesOf(box, precision)
    const next = precision + steps.next
    if (right - left > 1 || bottom - top > 1 || next > maxPrecision) return { box, cells }
    precision = next
    cells = await count(precision, box)
  }
}
