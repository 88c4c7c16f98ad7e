import { describe, expect, it } from 'vitest'
import type { Board } from '../api/boards'
import { keysOf, moving, putting, removing, titling } from './changes'
import type { Tile } from './tile'

const tile = (title: string, request = {}): Tile => ({ kind: 'chart', title, dataset: 'projects', of: 'data', request })
const board = (...tiles: Tile[]) => ({ tiles }) as Board
const [a, b, c] = [tile('A'), tile('B'), tile('C')]
const keyOf = (t: Tile) => keysOf([t])[0] ?? ''
const titles = (after: { tiles?: Tile[] } | undefined) => after?.tiles?.map((t) => t.title)

describe('a change of a board', () => {
  it('finds its tile wherever somebody has put it', () => {
    expect(titles(moving([a, b, c], 0, 1).apply(board(a, b, c)))).toEqual(['B', 'A', 'C'])
    expect(titles(moving([a, b, c], 0, 2).apply(board(a, b, c)))).toEqual(['B', 'C', 'A'])
    expect(titles(moving([a, b, c], 2, 0).apply(board(a, b, c)))).toEqual(['C', 'A', 'B'])
    // It goes over the same tile, wherever that is.
    expect(titles(moving([a, b, c], 2, 1).apply(board(b, c)))).toEqual(['C', 'B'])
    expect(titles(moving([a, b, c], 0, 1).apply(board(c, a, b)))).toEqual(['C', 'B', 'A'])
    expect(titles(moving([a, b, c], 0, 2).apply(board(c, b, a)))).toEqual(['C', 'A', 'B'])
    // A board that has become shorter has no third position.
    expect(titles(moving([a, b, c], 0, 2).apply(board(a, b)))).toEqual(['B', 'A'])
    expect(titles(removing(b, keyOf(b)).apply(board(c, b)))).toEqual(['C'])
    expect(titles(titling(b, keyOf(b), 'New').apply(board(c, b)))).toEqual(['C', 'New'])
    expect(titles(putting(b, 1).apply(board(a, c)))).toEqual(['A', 'B', 'C'])
    expect(titles(putting(b, 7).apply(board(a)))).toEqual(['A', 'B'])
  })

  it('does nothing to a board that lacks the tile', () => {
    expect(removing(b, keyOf(b)).apply(board(a))).toBeUndefined()
    expect(moving([a, b], 1, 0).apply(board(a))).toBeUndefined()
  })

  it('tells equal tiles apart, and knows one whose members come in another order', () => {
    expect(new Set(keysOf([a, a, b])).size).toBe(3)
    expect(keyOf(tile('D', { x: 1, y: [{ p: 1, q: 2 }] }))).toBe(keyOf(tile('D', { y: [{ q: 2, p: 1 }], x: 1 })))
    expect(titles(removing(a, keysOf([a, a])[1] ?? '').apply(board(a, b, a)))).toEqual(['A', 'B'])
  })
})
