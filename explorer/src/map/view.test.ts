import { expect, test } from 'vitest'
import { boxOf, tilesOf } from './tiles'
import { viewOfBox } from './view'

const world = boxOf({ precision: 0, left: 0, top: 0, right: 0, bottom: 0 })
/** A map of 1024 by 1024 pixels. */
const sight = {
  box: { ...world, north: 85.0511287798066, south: -85.0511287798066 },
  view: { latitude: 0, longitude: 0, zoom: 1 },
}

test('a box is shown with room around it', () => {
  // An eighth of the world is as wide as the map, without the room, at zoom 3.88.
  const box = boxOf(tilesOf({ north: 1, south: 1, east: -100, west: -100 }, 3))
  const view = viewOfBox(box, sight)
  expect(view.zoom).toBeCloseTo(Math.log2((1024 - 80) / (512 / 8)), 6)
  expect(view.longitude).toBeCloseTo(-112.5, 6)
  expect(view.latitude).toBeGreaterThan(box.south)
  expect(view.latitude).toBeLessThan(box.north)
})

test('a single point is shown with its streets, and the world as it is', () => {
  const point = { north: 51, south: 51, east: -114, west: -114 }
  const view = viewOfBox(point, sight)
  expect(view.zoom).toBe(15)
  expect(view.latitude).toBeCloseTo(51, 6)
  expect(view.longitude).toBeCloseTo(-114, 6)
  expect(viewOfBox(world, sight).zoom).toBeLessThan(1)
})
