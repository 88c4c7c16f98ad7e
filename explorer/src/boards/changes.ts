import { moved } from '../order'
import type { Board } from '../api/boards'
import { textOf } from './reads'
import type { Tile } from './tile'
import type { Change } from './use-board-change'

/** keysOf are names of tiles, the same on every reading of the board; of equal tiles each has its own. */
export function keysOf(tiles: readonly Tile[]): string[] {
  const seen = new Map<string, number>()
  return tiles.map((tile) => {
    const text = textOf(tile)
    const n = seen.get(text) ?? 0
    seen.set(text, n + 1)
    return n === 0 ? text : `${text} ${n}`
  })
}

/** at applies a change to the tile with a key. */
const at =
  (key: string, change: (tiles: Tile[], i: number) => Tile[]) =>
  ({ tiles }: Board) => {
    const i = keysOf(tiles).indexOf(key)
    return i < 0 ? undefined : { tiles: change(tiles, i) }
  }

/**
 * moving puts a tile where another one is: before it on the way up, after it on the way down,
 * wherever the two are by then. Without the other one it is a position.
 */
export function moving(all: readonly Tile[], from: number, to: number): Change {
  const keys = keysOf(all)
  const [key, other] = [keys[from] ?? '', keys[to] ?? '']
  return {
    what: `“${all[from]?.title ?? ''}” is moved`,
    apply: at(key, (tiles, i) => {
      const over = keysOf(tiles).indexOf(other)
      if (over < 0) return moved(tiles, i, Math.min(to, tiles.length - 1))
      const above = to < from ? over : over + 1
      return moved(tiles, i, i < above ? above - 1 : above)
    }),
  }
}

/** removing takes a tile off the board. */
export const removing = (tile: Tile, key: string): Change => ({
  what: `“${tile.title}” is off the board`,
  apply: at(key, (tiles, i) => tiles.toSpliced(i, 1)),
})

/** putting puts a tile where it was. */
export const putting = (tile: Tile, position: number): Change => ({
  what: `“${tile.title}” is back`,
  apply: ({ tiles }) => ({ tiles: tiles.toSpliced(position, 0, tile) }),
})

/** titling gives a tile another title. */
export const titling = (tile: Tile, key: string, title: string): Change => ({
  what: `It is called “${title}” now`,
  apply: at(key, (tiles, i) => tiles.with(i, { ...tile, title })),
})
