import { expect, test } from 'vitest'
import { Page, Rows } from '../api/pages'
import type { AnyRecord } from '../datasets'
import { marksIn } from './marked'

test('marks are places in the whole text', () => {
  expect(
    marksIn([
      {
        text: 'Row house',
        from: 0,
        marks: [
          [0, 3],
          [4, 9],
        ],
      },
      { text: 'deck', from: 40, marks: [[0, 4]] },
    ]),
  ).toEqual([
    [0, 3],
    [4, 9],
    [40, 44],
  ])
})

test('a page has the marks of its rows', () => {
  const row = (id: string) => ({ id, name: id }) as AnyRecord
  const fields = { name: [{ text: 'b', from: 0, marks: [[0, 1]] }] }
  const rows = new Rows([new Page([row('a')], 'x'), new Page([row('b'), row('c')], undefined, [{ id: 'b', fields }])])
  expect([0, 1, 2, 3].map((i) => rows.marks(i))).toEqual([undefined, fields, undefined, undefined])
})
