import { mutationOptions, queryOptions, type QueryClient } from '@tanstack/react-query'
import type { Tile } from '../boards/tile'
import { routeOf } from '../source'
import { scopeOfTile } from '../boards/tile'
import { answer, api, RequestError, type Schemas } from './client'
import { readAll, maxPage } from './lists'
import { retryInterval } from './queries'

export type Board = Omit<Schemas['Board'], 'tiles'> & { tiles: Tile[] }

/** A change of a board; without id it is a new one. */
export interface BoardChange {
  id?: string
  name?: string
  tiles?: Tile[]
  revision?: number
}

/** How many tiles a board has at most. */
export const maxTiles = 12

/** How often a visible board is refreshed, in milliseconds. */
export const refreshInterval = 5 * 60_000

const boardsKey = (workspace: string) => ['boards', workspace]

/** boardsQuery lists the boards of the workspace by name: at most 50. */
export const boardsQuery = (workspace: string) =>
  queryOptions({
    queryKey: [...boardsKey(workspace), 'list'],
    // Others may create and delete some.
    staleTime: 10_000,
    refetchOnWindowFocus: true,
    queryFn: ({ signal }) =>
      readAll(async (offset) => {
        const query = { workspace_id: workspace, limit: maxPage, offset }
        return (await answer(api.GET('/workspace/boards', { params: { query }, signal }))).data.boards as Board[]
      }),
  })

/** boardQuery reads one board, as often as it is counted: others may change it. */
export const boardQuery = (workspace: string, id: string) =>
  queryOptions({
    queryKey: [...boardsKey(workspace), 'one', id],
    staleTime: 10_000,
    refetchInterval: refreshInterval,
    refetchOnWindowFocus: true,
    queryFn: ({ signal }) => readBoard(workspace, id, signal),
  })

async function readBoard(workspace: string, id: string, signal?: AbortSignal): Promise<Board> {
  const params = { path: { id }, query: { workspace_id: workspace } }
  const request = api.GET('/workspace/boards/{id}', { params, ...(signal ? { signal } : {}) })
  return (await answer(request)).data.board as Board
}

/** saveBoard creates a board, or changes the one with the id. */
export async function saveBoard(workspace: string, change: BoardChange): Promise<Board> {
  const params = { query: { workspace_id: workspace } }
  const request = api.POST('/workspace/boards/upsert', { params, body: change as Schemas['BoardUpsert'] })
  return (await answer(request)).data.board as Board
}

/** How often a change that conflicts with others is attempted. */
const maxAttempts = 4

/** changeTiles changes the current version of a board: concurrent changes by others stay. */
export async function changeTiles(
  workspace: string,
  id: string,
  change: (board: Board) => Tile[] | undefined,
): Promise<Board> {
  for (let attempt = 1; ; attempt++) {
    const board = await readBoard(workspace, id)
    const tiles = change(board)
    if (!tiles) return board
    try {
      return await saveBoard(workspace, { id, tiles, revision: board.revision })
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error
    }
  }
}

/** isConflict reports that somebody has changed the board since it was read. */
export const isConflict = (error: unknown) => error instanceof RequestError && error.code === 'revision_conflict'

/** refusedTiles are the positions of the refused tiles of a board, if these are the only error. */
export function refusedTiles(error: unknown): Set<number> {
  const issues = error instanceof RequestError && error.status === 400 ? error.issues : []
  const positions = issues.map(({ path: [of, position] }) => (of === 'tiles' && position ? Number(position) : NaN))
  return new Set(positions.some(Number.isNaN) ? [] : positions)
}

/** restoreBoard recreates a deleted board, and returns how many tiles of deleted Views it lost. */
export async function restoreBoard(workspace: string, board: Board): Promise<{ restored: Board; lost: number }> {
  const { name, tiles } = board
  try {
    return { restored: await saveBoard(workspace, { name, tiles }), lost: 0 }
  } catch (error) {
    const refused = refusedTiles(error)
    if (refused.size === 0) throw error
    const rest = tiles.filter((_, i) => !refused.has(i))
    return { restored: await saveBoard(workspace, { name, tiles: rest }), lost: refused.size }
  }
}

/** boardSaved updates all queries of a saved board. */
export function boardSaved(client: QueryClient, workspace: string, saved?: Board): void {
  if (saved) client.setQueryData(boardQuery(workspace, saved.id).queryKey, saved)
  void client.invalidateQueries({ queryKey: boardsKey(workspace) })
}

/** saveBoardMutation creates or changes a board, and updates the queries. */
export const saveBoardMutation = (workspace: string) =>
  mutationOptions({
    mutationFn: (change: BoardChange) => saveBoard(workspace, change),
    onSettled: (saved, _error, _change, _result, { client }) => boardSaved(client, workspace, saved),
  })

/** deleteBoardMutation deletes a board, removes it from the queries, and returns it. A missing one counts as deleted. */
export const deleteBoardMutation = (workspace: string) =>
  mutationOptions({
    mutationFn: async (id: string) => {
      const params = { path: { id }, query: { workspace_id: workspace } }
      try {
        const board = await readBoard(workspace, id)
        await answer(api.DELETE('/workspace/boards/{id}', { params }))
        return board
      } catch (error) {
        if (!(error instanceof RequestError && error.status === 404)) throw error
        return undefined
      }
    },
    onSettled: (_data, _error, _id, _result, { client }) => boardSaved(client, workspace),
  })

const tilesKey = (workspace: string) => ['tile', workspace]

/** Found is the result of a tile's request. */
export type Found = { pivot: Schemas['Pivot'] } | { facets: Schemas['FacetCounts'] }

/** tileQuery counts the records of a tile, which is free; on a visible page, at the interval refreshInterval. */
export const tileQuery = (workspace: string, tile: Tile) =>
  queryOptions<Found>({
    queryKey: [...tilesKey(workspace), tile.kind === 'pivot', tile.dataset, tile.of, tile.view_id, tile.request],
    staleTime: refreshInterval,
    // A hidden page sends no requests; when it becomes visible, old counts are refreshed at once.
    refetchInterval: (query) => retryInterval(query) || refreshInterval,
    refetchOnWindowFocus: true,
    queryFn: async ({ signal }) => {
      const { dataset, source } = scopeOfTile(tile)
      const route = routeOf(dataset, source)
      const params = { query: { workspace_id: workspace } }
      const body = tile.request as never
      if (tile.kind === 'pivot') {
        const request = api.POST(`${route}/pivot` as '/data/projects/pivot', { params, body, signal })
        return { pivot: (await answer(request)).data }
      }
      const request = api.POST(`${route}/facets` as '/data/projects/facets', { params, body, signal })
      return { facets: (await answer(request)).data }
    },
  })

/** refreshBoard reads a board and counts its tiles now. */
export const refreshBoard = (client: QueryClient, workspace: string, id: string) =>
  Promise.all([
    client.invalidateQueries({ queryKey: boardQuery(workspace, id).queryKey }),
    client.invalidateQueries({ queryKey: tilesKey(workspace), refetchType: 'active' }),
  ])
