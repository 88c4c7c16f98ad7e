import { describe, expect, it } from 'vitest'
import type { Board } from '../api/boards'
import { keysOf, moveTile, restoreTile, removeTile, renameTile } from './changes'
import type { Tile } from './tile'

const tile = (title: string, request = {}): Tile => ({ kind: 'chart', title, dataset: 'projects', of: 'data', request })
const board = (...tiles: Tile[]) => ({ tiles }) as Board
const [a, b, c] = [tile('A'), tile('B'), tile('C')]
const titles = (after: { tiles?: Tile[] } | undefined) => after?.tiles?.map((t) => t.title)

describe('a change of a board', () => {
  it('finds its tile wherever somebody has put it', () => {
    expect(titles(moveTile([a, b, c], 0, 1).apply(board(a, b, c)))).toEqual(['B', 'A', 'C'])
    expect(titles(moveTile([a, b, c], 0, 2).apply(board(a, b, c)))).toEqual(['B', 'C', 'A'])
    expect(titles(moveTile([a, b, c], 2, 0).apply(board(a, b, c)))).toEqual(['C', 'A', 'B'])
    // It moves past the same tile, wherever that is.
    expect(titles(moveTile([a, b, c], 2, 1).apply(board(b, c)))).toEqual(['C', 'B'])
    expect(titles(moveTile([a, b, c], 0, 1).apply(board(c, a, b)))).toEqual(['C', 'B', 'A'])
    expect(titles(moveTile([a, b, c], 0, 2).apply(board(c, b, a)))).toEqual(['C', 'A', 'B'])
    // A board that has become shorter has no third position.
    expect(titles(moveTile([a, b, c], 0, 2).apply(board(a, b)))).toEqual(['B', 'A'])
    expect(titles(removeTile([a, b], 1).apply(board(c, b)))).toEqual(['C'])
    expect(titles(renameTile([b], 0, 'New').apply(board(c, b)))).toEqual(['C', 'New'])
    expect(titles(restoreTile([a, b, c], 1).apply(board(a, c)))).toEqual(['A', 'B', 'C'])
    expect(titles(restoreTile([a, c, b], 2).apply(board(a)))).toEqual(['A', 'B'])
  })

  it('finds its tile under another title, if no other is like it', () => {
    const [x, y] = [tile('X', { query: 'x' }), tile('Y', { query: 'y' })]
    const renamed = { ...x, title: 'Theirs' }
    expect(titles(moveTile([x, y], 0, 1).apply(board(renamed, y)))).toEqual(['Y', 'Theirs'])
    expect(titles(moveTile([x, y], 1, 0).apply(board(renamed, y)))).toEqual(['Y', 'Theirs'])
    expect(titles(renameTile([x], 0, 'Mine').apply(board(renamed)))).toEqual(['Mine'])
    expect(titles(removeTile([x], 0).apply(board(y, renamed)))).toEqual(['Y'])
    // Of two alike the other one is another tile.
    expect(removeTile([a, b], 0).apply(board(b))).toBeUndefined()
    expect(removeTile([a], 0).apply(board(b, c))).toBeUndefined()
  })

  it('does nothing to a board that lacks the tile', () => {
    const other = tile('Other', { query: 'x' })
    expect(removeTile([b], 0).apply(board(other))).toBeUndefined()
    expect(moveTile([a, b], 1, 0).apply(board(a))).toBeUndefined()
  })

  it('restores a tile once', () => {
    const put = restoreTile([a, b], 1)
    const once = put.apply(board(a))
    expect(titles(once)).toEqual(['A', 'B'])
    expect(titles(put.apply(board(...(once?.tiles ?? []))))).toEqual(['A', 'B'])
    const equal = restoreTile([a, a], 1)
    expect(titles(equal.apply(board(a)))).toEqual(['A', 'A'])
    expect(titles(equal.apply(board(a, a)))).toEqual(['A', 'A'])
  })
})

describe('the keys of tiles', () => {
  it('distinguish equal tiles, and ignore the order of members', () => {
    expect(new Set(keysOf([a, a, b])).size).toBe(3)
    expect(keysOf([tile('D', { x: 1, y: [{ p: 1, q: 2 }] })])).toEqual(
      keysOf([tile('D', { y: [{ q: 2, p: 1 }], x: 1 })]),
    )
    expect(titles(removeTile([a, a], 1).apply(board(a, b, a)))).toEqual(['A', 'B'])
  })

  it('are stable under other titles and in another order', () => {
    const other = tile('X', { query: 'x' })
    const [key] = keysOf([other, a, b])
    expect(keysOf([a, b, { ...other, title: 'Y' }])[2]).toBe(key)
    expect(keysOf([a, b]).toReversed()).toEqual(keysOf([b, a]))
  })
})
