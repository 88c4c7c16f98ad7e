import { expect, it } from 'vitest'
import type { AnyRecord } from '../datasets'
import { Page, Rows } from './pages'

const record = (n: number) => ({ id: `id-${n}`, name: `Straße <b>${n}</b> 😀 شركة`, cost: n }) as unknown as AnyRecord
const page = (from: number, to: number) =>
  new Page(
    Array.from({ length: to - from }, (_, i) => record(from + i)),
    undefined,
  )

it('returns the same rows after packing and unpacking', () => {
  // More rows than are unpacked at a time.
  const pages = Array.from({ length: 1000 }, (_, i) => page(i * 3, i * 3 + 3))
  const rows = new Rows(pages)
  expect(rows.length).toBe(3000)
  for (const i of [0, 1, 2, 3, 299, 300, 2998, 2999]) {
    expect(rows.at(i)).toEqual(record(i))
    expect(rows.id(i)).toBe(`id-${i}`)
    expect(rows.indexOf(`id-${i}`)).toBe(i)
  }
  expect(rows.indexOf('id-3000')).toBe(-1)
  expect(rows.at(3000)).toBeUndefined()
  expect(rows.at(-1)).toBeUndefined()
})

it('returns the same objects while they are visible', () => {
  const rows = new Rows([page(0, 2)])
  expect(rows.at(1)).toBe(rows.at(1))
})

it('finds rows in pages of different lengths', () => {
  const rows = new Rows([page(0, 2), page(2, 3), page(3, 3), page(3, 7)])
  expect(rows.ids()).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => `id-${n}`))
  expect(rows.ids(1, 4)).toEqual(['id-1', 'id-2', 'id-3'])
  expect(new Rows([]).at(0)).toBeUndefined()
})
