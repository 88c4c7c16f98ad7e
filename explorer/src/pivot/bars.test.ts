import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import type { Axis } from './axes'
import { barsOf } from './bars'

type Cell = { count: number; measure?: number | null }

const pivotOf = (rows: Cell[], cells: Cell[][]) =>
  ({ count: 9, rows: { field: 'x', groups: rows }, cells }) as unknown as Schemas['Pivot']
const city: Axis = { key: 'city', kind: 'values' }
const cost = { field: 'cost', of: 'sum' } as const

describe('the bars of a pivot', () => {
  it('are of parts that add up', () => {
    const pivot = pivotOf(
      [{ count: 5 }, { count: 2 }],
      [
        [{ count: 3 }, { count: 2 }],
        [{ count: 0 }, { count: 2 }],
      ],
    )
    // Two columns with one name are two.
    expect(barsOf(pivot, city, undefined, ['Not known', 'Not known'])).toEqual({
      bars: [
        { row: 0, column: 0, value: 3 },
        { row: 0, column: 1, value: 2 },
        { row: 1, column: 0, value: 0 },
        { row: 1, column: 1, value: 2 },
      ],
      columns: ['Not known', 'Not known'],
    })
  })

  it('are of whole rows where a record can be in several columns', () => {
    const pivot = pivotOf([{ count: 2 }], [[{ count: 2 }, { count: 2 }]])
    for (const key of ['account_type', 'tags'])
      expect(barsOf(pivot, { key, kind: 'values' }, undefined, ['a', 'b'])).toEqual({
        bars: [{ row: 0, column: 0, value: 2 }],
        columns: [],
      })
  })

  it('are of whole rows where a total of a cell is unknown, and omitted where the total of the row is', () => {
    const rows = [
      { count: 5, measure: 50 },
      { count: 2, measure: null },
    ]
    const of = (measure: number | null) =>
      barsOf(
        pivotOf(rows, [
          [
            { count: 3, measure },
            { count: 0, measure: null },
          ],
        ]),
        city,
        cost,
        ['a', 'b'],
      )
    expect(of(null)).toEqual({ bars: [{ row: 0, column: 0, value: 50 }], columns: [] })
    expect(of(50).columns).toEqual(['a', 'b']) // no record adds nothing
    expect(barsOf(pivotOf(rows, []), undefined, { field: 'cost', of: 'median' }, []).bars).toHaveLength(1)
  })

  it('have as many parts as there are colours', () => {
    const names = Array.from({ length: 12 }, (_, i) => `c${i}`)
    const { bars, columns } = barsOf(
      pivotOf([{ count: 12 }], [names.map(() => ({ count: 1 }))]),
      city,
      undefined,
      names,
    )
    expect(columns).toEqual([...names.slice(0, 7), 'All others'])
    expect(bars.map((b) => b.value)).toEqual([1, 1, 1, 1, 1, 1, 1, 5])
    expect(barsOf(pivotOf([], []), city, undefined, names.slice(0, 8)).columns).toHaveLength(8)
  })
})
