import { expect, it } from 'vitest'
import { refusedTiles } from './boards'
import { RequestError } from './client'

const refused = (...paths: string[][]) =>
  new RequestError(
    400,
    'ZodError',
    'no',
    '',
    undefined,
    undefined,
    paths.map((path) => ({ path, message: 'no' })),
  )

it('names the tiles that a board is not saved for', () => {
  expect([
    ...refusedTiles(refused(['tiles', '0', 'view_id'], ['tiles', '2', 'dataset'], ['tiles', '2', 'view_id'])),
  ]).toEqual([0, 2])
  expect(refusedTiles(refused(['tiles'])).size).toBe(0)
  expect(refusedTiles(refused(['tiles', '0', 'view_id'], ['name'])).size).toBe(0)
  expect(refusedTiles(new Error('tiles.0')).size).toBe(0)
})
