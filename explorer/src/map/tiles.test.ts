import { describe, expect, it } from 'vitest'
import { boxOf, cellsIn, cellsOf, extentOf, findExtent, inBox, tilesOf, type Cell } from './tiles'

const calgary = { north: 51.2, south: 50.85, east: -113.9, west: -114.3 }

describe('tiles', () => {
  it('are those of the service', () => {
    // The box of a cell in docs/api.md.
    const box = { north: 51.069016659603896, south: 51.013754657188194, east: -113.994140625, west: -114.08203125 }
    const tiles = tilesOf(box, 12)
    expect([tiles.right - tiles.left, tiles.bottom - tiles.top]).toEqual([0, 0])
    const back = boxOf(tiles)
    for (const side of ['north', 'south', 'east', 'west'] as const) expect(back[side]).toBeCloseTo(box[side], 9)
  })

  it('reach to the poles', () => {
    expect(boxOf(tilesOf({ north: 90, south: -90, east: 180, west: -180 }, 3))).toEqual({
      ...{ north: 90, south: -90 },
      ...{ east: 180, west: -180 },
    })
  })

  it('are never more than a request takes', () => {
    for (const zoom of [0, 3.4, 9, 15]) {
      for (const half of [0.001, 0.3, 20, 170]) {
        const sight = { north: half / 2, south: -half / 2, east: half, west: -half }
        const { precision, box } = cellsOf(sight, zoom)
        expect(cellsIn(box, precision)).toBeLessThanOrEqual(2000)
        expect(box.north).toBeGreaterThanOrEqual(sight.north)
        expect(box.west).toBeLessThanOrEqual(sight.west)
      }
    }
  })

  it('get finer with the zoom, and do not change with small moves', () => {
    const at = cellsOf(calgary, 10)
    expect(at.precision).toBe(13)
    expect(cellsOf(calgary, 11).precision).toBe(14)
    expect(cellsOf({ ...calgary, west: -114.299 }, 10.2)).toEqual(at)
  })
})

describe('a search in a box', () => {
  const location = { value: { within: calgary } }
  it('has the box as its place', () => {
    expect(inBox({ query: 'a', filters: { stage: 1 } }, calgary)).toEqual({
      query: 'a',
      filters: { stage: 1, location },
    })
  })
  it('has the box beside a place of its own', () => {
    const own = { location: { value: { near: {} } } }
    expect(inBox({ filters: own }, calgary)).toEqual({ filters: own, any: [{ filters: { location } }] })
    const any = [{ filters: { a: 1 } }, { filters: { a: 2 } }]
    expect(inBox({ filters: own, any }, calgary).any).toEqual(any.map((g) => ({ filters: { location, ...g.filters } })))
  })
})

describe('the extent', () => {
  const cell = (west: number, count: number): Cell => ({
    ...{ latitude: 0.5, longitude: west + 0.5, count },
    box: { north: 1, south: 0, east: west + 1, west },
  })
  it('leaves out what is far away', () => {
    expect(extentOf([cell(0, 99), cell(2, 99), cell(100, 1)])).toEqual({ north: 1, south: 0, east: 3, west: 0 })
    expect(extentOf([])).toBeUndefined()
  })
  it('is found with increasing precision', async () => {
    const requests: [number, unknown][] = []
    const found = await findExtent((precision, box) => {
      requests.push([precision, box])
      const { left, top } = tilesOf(calgary, precision)
      const tile = boxOf({ precision, left, top, right: left, bottom: top })
      const cells = [{ latitude: 51, longitude: -114, count: 5, box: tile }]
      if (precision >= 13) {
        const next = boxOf({ precision, left: left + 9, top, right: left + 9, bottom: top })
        cells.push({ latitude: 51, longitude: -113.9, count: 4, box: next })
      }
      return Promise.resolve(cells)
    })
    expect(requests.map(([p]) => p)).toEqual([5, 9, 13])
    expect(found?.cells).toHaveLength(2)
  })
})
