import { expect, test } from 'vitest'
import { mergeOverlapping, type PlacedCell } from './merge-overlapping'

const at = (x: number, y: number, count: number): PlacedCell => ({
  x,
  y,
  cell: {
    latitude: y,
    longitude: x,
    count,
    box: { north: y + 1, south: y, east: x + 1, west: x },
  } as PlacedCell['cell'],
})
const size = () => 20

test('circles that would hide each other are one, which counts both', () => {
  const shown = mergeOverlapping([at(0, 0, 106), at(10, 0, 7), at(60, 0, 5)], size)
  expect(shown.map(({ x, cell }) => [x, cell.count])).toEqual([
    [0, 113],
    [60, 5],
  ])
  expect(shown[0]?.cell.box).toEqual({ north: 1, south: 0, east: 11, west: 0 })
})

test('no record is lost, and separate circles are not merged', () => {
  const cells = Array.from({ length: 40 }, (_, i) => at((i * 37) % 100, (i * 53) % 100, 40 - i))
  const total = (all: PlacedCell[]) => all.reduce((sum, { cell }) => sum + cell.count, 0)
  expect(total(mergeOverlapping(cells, size))).toBe(total(cells))
  expect(mergeOverlapping([at(0, 0, 2), at(18, 0, 1)], size)).toHaveLength(2)
})
