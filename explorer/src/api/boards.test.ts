import { afterEach, expect, it, vi } from 'vitest'
import { refusedTiles, restoreBoard, type Board } from './boards'
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

afterEach(() => vi.unstubAllGlobals())

it('makes a board again without the tiles of deleted Views, and with no others missing', async () => {
  const saved: unknown[] = []
  const answers = [
    { success: false, error: { name: 'ZodError', issues: [{ path: ['tiles', '1', 'view_id'], message: 'no' }] } },
    { success: true, data: { board: { name: 'B' } } },
  ]
  vi.stubGlobal(
    'Request',
    class extends Request {
      constructor(input: string, init: RequestInit) {
        super(new URL(input, 'http://x'), init)
      }
    },
  )
  vi.stubGlobal('fetch', async (request: Request) => {
    saved.push(await request.json())
    const body = answers[saved.length - 1]
    return Response.json(body, { status: saved.length === 1 ? 400 : 200 })
  })
  const { restored, lost } = await restoreBoard('w', {
    id: 'old',
    revision: 3,
    name: 'B',
    tiles: ['a', 'b', 'c'],
  } as never as Board)
  expect([restored.name, lost]).toEqual(['B', 1])
  expect(saved).toEqual([
    { name: 'B', tiles: ['a', 'b', 'c'] },
    { name: 'B', tiles: ['a', 'c'] },
  ])
})
