import { describe, expect, it } from 'vitest'
import type { Body } from '../api/body'
import { Page, Rows } from '../api/pages'
import type { AnyRecord } from '../datasets'
import { deriveRows, clientFilter, sortedPositions, type RowsQuery } from './client-side'

const project = (id: string, values: object) => ({ id, name: id, ...values }) as AnyRecord
const records = [
  project('a', { stage: 'filed', cost: 5, permitted_at: '2026-03-01T00:00:00.000Z', city: 'Calgary' }),
  project('b', { stage: 'permitted', cost: null, permitted_at: null, city: 'Airdrie' }),
  project('c', { stage: 'permitted', cost: 20, permitted_at: '2026-03-31T23:59:59.999Z', city: null }),
  project('d', { stage: 'filed', cost: 5, permitted_at: '2026-04-01T00:00:00.000Z', city: 'Calgary' }),
]
const rows = new Rows([new Page(records.slice(0, 2), 'x'), new Page(records.slice(2), undefined)])
const all: RowsQuery = { body: {}, sort: undefined }
const find = (body: Body, from: Body = {}) => {
  const test = clientFilter('projects', from, body)
  return test && records.filter(test).map((r) => r.id)
}
const filter = (key: string, value: unknown): Body => ({ filters: { [key]: { value } } })

describe('filtering loaded rows', () => {
  it('matches as the service does: values, inclusive ranges, whole days, unknown values', () => {
    expect(find(filter('stage', ['PERMITTED']))).toEqual(['b', 'c'])
    expect(find(filter('cost', [5, 19.99]))).toEqual(['a', 'd'])
    expect(find(filter('cost', [20, null]))).toEqual(['c'])
    expect(find(filter('permitted_at', ['2026-03-01', '2026-03-31']))).toEqual(['a', 'c'])
    expect(find(filter('permitted_at', ['2026-Q2', '2026-Q2']))).toEqual(['d'])
    expect(find({ filters: { cost: { known: false } } })).toEqual(['b'])
    expect(find({ filters: { cost: { known: true }, stage: { value: ['filed'] } } })).toEqual(['a', 'd'])
  })

  it('may narrow a previous search, but not widen it', () => {
    expect(find(filter('stage', ['filed']), filter('stage', ['filed', 'permitted']))).toEqual(['a', 'd'])
    expect(find(filter('cost', [5, 10]), filter('cost', [1, null]))).toEqual(['a', 'd'])
    expect(find(filter('cost', [1, null]), { filters: { cost: { known: true } } })).toEqual(['a', 'c', 'd'])
    for (const [from, to] of [
      [filter('stage', ['filed']), filter('stage', ['filed', 'permitted'])],
      [filter('cost', [5, 10]), filter('cost', [1, 10])],
      [filter('stage', ['filed']), {}],
      [{}, { query: 'garage' }],
      [{}, { none: [filter('stage', ['filed'])] }],
      [{ source: { kind: 'book' } }, {}],
    ] as [Body, Body][])
      expect(find(to, from)).toBeUndefined()
  })

  it('leaves texts, places, relations, and times that move within a day to the service', () => {
    for (const body of [
      filter('city', ['Calgary']),
      filter('name', ['a']),
      filter('location', { within: { north: 1, south: 0, east: 1, west: 0 } }),
      filter('account_ids', ['a']),
      filter('permitted_at', ['now-12h', null]),
      { relations: { has_signal: {} } },
    ])
      expect(find(body)).toBeUndefined()
  })

  it('matches a list by the singular name of its filter', () => {
    const firms = [
      { id: 'x', account_types: ['developer', 'owner'] },
      { id: 'y', account_types: [] },
    ] as unknown as AnyRecord[]
    const test = clientFilter('accounts', {}, filter('account_type', ['owner']))
    expect(test && firms.filter(test).map((r) => r.id)).toEqual(['x'])
  })
})

describe('sorting loaded rows', () => {
  const by = (field: string, order: 'asc' | 'desc', of = records) =>
    sortedPositions('projects', { field, order }, of)?.map((i) => of[i]?.id)

  it('sorts ties by id and unknown values last, in both orders', () => {
    expect(by('cost', 'desc')).toEqual(['c', 'a', 'd', 'b'])
    expect(by('cost', 'asc')).toEqual(['a', 'd', 'c', 'b'])
    expect(by('permitted_at', 'desc')).toEqual(['d', 'c', 'a', 'b'])
  })

  it('sorts only names whose folding is their lower case', () => {
    const named = (...names: string[]) => names.map((name, i) => project(String(i), { name }))
    expect(by('name', 'asc', named('bow', 'Arbour', 'arbor'))).toEqual(['2', '1', '0'])
    expect(by('name', 'asc', named('bow', 'Élan'))).toBeUndefined()
    expect(by('city', 'asc')).toBeUndefined()
  })
})

describe('derived rows', () => {
  const ids = (now: RowsQuery, from = all) => deriveRows('projects', from, rows, now)?.ids

  it('are the rows of the search, in the same order or in its own', () => {
    expect(ids({ body: filter('stage', ['permitted']), sort: undefined })).toEqual(['b', 'c'])
    expect(ids({ body: filter('stage', ['filed']), sort: { field: 'cost', order: 'desc' } })).toEqual(['a', 'd'])
    expect(ids({ body: {}, sort: { field: 'relevance', order: 'desc' } })).toBeUndefined()
    // The default order is known only to the service.
    expect(ids(all, { body: {}, sort: { field: 'cost', order: 'desc' } })).toBeUndefined()
  })

  it('are read by their position', () => {
    const page = deriveRows('projects', all, rows, { body: {}, sort: { field: 'cost', order: 'desc' } })
    expect(page?.next).toBeUndefined()
    expect(page?.rows.map((r) => r.id)).toEqual(['c', 'a', 'd', 'b'])
    expect(new Rows(page ? [page] : []).at(1)).toEqual(records[0])
  })
})
