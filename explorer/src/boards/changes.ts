import { moved } from '../order'
import type { Board } from '../api/boards'
import { textOf } from './parse-body'
import type { Tile } from './tile'

/** Change is an edit of a board. It can be applied to another version of it, too. */
export interface Change {
  /** Its description: "“Cost by stage” is moved". */
  what: string
  /** apply returns the changed board; undefined if the change no longer applies. */
  apply: (board: Board) => Partial<Pick<Board, 'name' | 'tiles'>> | undefined
}

/** Of equal texts each after the first gets its number. */
function numbered(texts: readonly string[]): string[] {
  const seen = new Map<string, number>()
  return texts.map((text) => {
    const n = seen.get(text) ?? 0
    seen.set(text, n + 1)
    return n === 0 ? text : `${text} ${n}`
  })
}

const tileKeys = (tiles: readonly Tile[]) => numbered(tiles.map(textOf))

/** A tile without its title. */
const untitled = (tile: Tile) => textOf({ ...tile, title: undefined })

const isUnique = (texts: readonly string[], text: string) => texts.indexOf(text) === texts.lastIndexOf(text)

/**
 * keysOf are stable keys of tiles, the same in every version of the board; equal tiles have
 * distinct keys. A tile with unique content has the same key under another title.
 */
export function keysOf(tiles: readonly Tile[]): string[] {
  const drawn = tiles.map(untitled)
  return tileKeys(tiles).map((whole, i) => {
    const text = drawn[i] ?? ''
    return isUnique(drawn, text) ? text : whole
  })
}

/** tileFinder finds a tile in another version of the board: unchanged, or else under another title. */
function tileFinder(all: readonly Tile[], i: number): (tiles: readonly Tile[]) => number {
  const whole = tileKeys(all)[i] ?? ''
  const before = all.map(untitled)
  const drawn = before[i] ?? ''
  return (tiles) => {
    const same = tileKeys(tiles).indexOf(whole)
    if (same >= 0) return same
    const now = tiles.map(untitled)
    return isUnique(before, drawn) && isUnique(now, drawn) ? now.indexOf(drawn) : -1
  }
}

const titleOf = (all: readonly Tile[], i: number) => all[i]?.title ?? ''

/** changeOfTile applies a change to the tile that is number i of all. */
function changeOfTile(all: readonly Tile[], i: number, change: (tiles: Tile[], i: number) => Tile[]): Change['apply'] {
  const find = tileFinder(all, i)
  return ({ tiles }) => {
    const found = find(tiles)
    return found < 0 ? undefined : { tiles: change(tiles, found) }
  }
}

/**
 * moveTile moves a tile to another tile: before it on the way up, after it on the way down,
 * wherever the two are by then. If the other tile is gone, it moves to the position.
 */
export function moveTile(all: readonly Tile[], from: number, to: number): Change {
  const findOther = tileFinder(all, to)
  return {
    what: `“${titleOf(all, from)}” is moved`,
    apply: changeOfTile(all, from, (tiles, i) => {
      const over = findOther(tiles)
      if (over < 0) return moved(tiles, i, Math.min(to, tiles.length - 1))
      const above = to < from ? over : over + 1
      return moved(tiles, i, i < above ? above - 1 : above)
    }),
  }
}

/** removeTile takes a tile off the board. */
export const removeTile = (all: readonly Tile[], i: number): Change => ({
  what: `“${titleOf(all, i)}” is off the board`,
  apply: changeOfTile(all, i, (tiles, found) => tiles.toSpliced(found, 1)),
})

/** restoreTile restores a removed tile at its position, once: a board that already has it is not changed. */
export function restoreTile(all: readonly Tile[], i: number): Change {
  const tile = all[i]
  const count = (tiles: readonly Tile[]) => tiles.filter((t) => tile && textOf(t) === textOf(tile)).length
  const before = count(all)
  return {
    what: `“${titleOf(all, i)}” is back`,
    apply: ({ tiles }) => ({ tiles: tile && count(tiles) < before ? tiles.toSpliced(i, 0, tile) : tiles }),
  }
}

/** renameTile gives a tile another title. */
export const renameTile = (all: readonly Tile[], i: number, title: string): Change => ({
  what: `It is called “${title}” now`,
  apply: changeOfTile(all, i, (tiles, found) => tiles.map((t, n) => (n === found ? { ...t, title } : t))),
})
