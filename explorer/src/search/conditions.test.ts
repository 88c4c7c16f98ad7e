import { describe, expect, it } from 'vitest'
import type { FieldKind } from '../datasets'
import { readPairs, writePairs, type KindOf, type Pair } from './conditions'
import { bodyOf, format, isEmpty, limitOf, parse } from './state'

const kinds: Record<string, FieldKind> = {
  stage: 'values',
  city: 'values',
  name: 'text',
  cost: 'number',
  filed_at: 'date',
  location: 'place',
  account_ids: 'id',
}
const kindOf: KindOf = (dataset, key) => {
  if (/^(has|without)_/.test(key)) return dataset === 'accounts' ? 'relation' : undefined
  return Object.hasOwn(kinds, key) ? kinds[key] : undefined
}
const read = (address: string) => {
  const { pathname, search } = new URL(address, 'http://x')
  return parse(pathname, search, kindOf)
}
const conditions = (pairs: string) => read(`/accounts?${pairs}`).conditions
const id = '735ddd27-7d88-5aa1-a50f-a5008168f31e'

describe('the address', () => {
  it.each([
    '/accounts?has_project',
    '/accounts?has_project.stage=permitted&has_project.stage=filed&has_project.cost=1000000..&without_signal',
    '/accounts?city=calgary&unknown=has_project.cost&known=without_contact.name',
    '/accounts?name==Truman+Homes&name==x',
    '/accounts?name=+==x&name=++=x&city=+=x&any=name=+=x',
    `/accounts?has_project.account_ids=${id}`,
    '/projects?location=51.04,-114.07,2km',
    '/projects?location=51.04,-114.07,500m',
    '/projects?location=50.84..51.21,-114.3..-113.9',
    '/accounts?filed_at=now-90d..&any=filed_at=2026-Q1;cost=5',
    '/accounts?filed_at=today',
    '/accounts?any=city=calgary;name=builders&any=has_project.cost=..5;unknown=name&none=city=airdrie',
    '/accounts?none=without_project&sort=name:asc',
    '/accounts?city=a;b&any=city=a;;b;name=%26%3D'.replace('%3D', '='),
  ])('%s is what it was', (address) => {
    expect(format(read(address))).toBe(address)
  })

  it.each([
    ['a field nobody knows', 'colour=red&known=colour&any=colour=red&has_project.colour=red'],
    ['a relation of another dataset', 'has_house.stage=filed&has_house&without_'],
    ['names of objects', '__proto__=1&constructor=1&any=__proto__=1&has_project.__proto__.x=1&known=__proto__'],
    [
      'numbers and days that are none',
      'cost=abc&cost=1..x&cost=1e999&cost=0x10&filed_at=2023-02-31&filed_at=todays..&filed_at=now-30x..&filed_at=today-2h..&filed_at=2026-Q5',
    ],
    [
      'areas that are none',
      'location=1,2&location=91,0,2km&location=1,2,3&location=1,2,0m&location=5..1,0..1&location=',
    ],
    ['nothing', '&&any=&none=;;;&has_project=1&name=&name==&=&stage=+'],
    ['ids that are none', 'account_ids=1'],
    ['a text that is too long', `name=${'x'.repeat(20_000)}`],
  ])('ignores %s', (_, pairs) => {
    expect(isEmpty(read(`/accounts?${pairs}`))).toBe(true)
  })

  it('distinguishes words that begin with = from an exact text', () => {
    expect(conditions('name=+=x')).toEqual({ name: { kind: 'values', values: ['=x'] } })
    expect(conditions('name==x')).toEqual({ name: { kind: 'values', values: ['x'], exact: true } })
    expect(conditions('city==x')).toEqual({ city: { kind: 'values', values: ['=x'] } })
  })

  it('reads ends in either order', () => {
    expect(conditions('cost=5..1')).toEqual({ cost: { kind: 'range', from: '1', to: '5' } })
    expect(conditions('filed_at=2020-01-01..2019-01-01')).toEqual({
      filed_at: { kind: 'range', from: '2019-01-01', to: '2020-01-01' },
    })
  })

  it('has as many groups and conditions as a request takes', () => {
    const groups = read(`/accounts?${'any=city=a&none=city=b&'.repeat(400)}`)
    expect((groups.any?.length ?? 0) + (groups.none?.length ?? 0)).toBe(10)
    const mixed = read('/accounts?stage=a&unknown=stage&city=b&unknown=city&any=name=a&any=name=b&any=name=c')
    expect(bodyOf(mixed, kindOf).any).toHaveLength(8)
    expect(limitOf(bodyOf(mixed, kindOf))).toBeUndefined()
    expect(conditions('city=x&'.repeat(300)).city).toMatchObject({ values: { length: 100 } })
  })

  it('has no choice of unknown beside a group on the same field', () => {
    const state = read('/accounts?stage=a&unknown=stage&any=stage=b')
    expect(state.conditions).toEqual({ stage: { kind: 'known', known: false } })
  })
})

it.each<[string, Pair[]]>([
  [
    'a=b;c=d',
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
  [
    'a=;;;;b;c',
    [
      ['a', ';;b'],
      ['c', ''],
    ],
  ],
  [
    'a=x;;;b=y',
    [
      ['a', 'x;'],
      ['b', 'y'],
    ],
  ],
  ['a==x=y', [['a', '=x=y']]],
])('the group %s has its pairs', (text, pairs) => {
  expect(readPairs(text)).toEqual(pairs)
  expect(writePairs(pairs)).toBe(text)
})

describe('limits', () => {
  it('are said', () => {
    const group = { filters: { a: 1 } }
    expect(limitOf({ any: Array(6).fill(group), none: Array(4).fill(group) })).toBeUndefined()
    expect(limitOf({ any: Array(6).fill(group), none: Array(5).fill(group) })).toMatch(/10 .* would make 11\.$/)
    const wide = { relations: { has_project: Object.fromEntries(Array.from({ length: 49 }, (_, i) => [i, 1])) } }
    expect(limitOf({ none: [wide] })).toBeUndefined()
    expect(limitOf({ any: [wide], none: [group] })).toMatch(/50 conditions .* would make 51\.$/)
  })
})

describe('the request', () => {
  it('has relations, groups, areas and exact texts', () => {
    const state = read(
      '/accounts?has_project.stage=filed&has_project.cost=1..&without_signal&name==x&location=1,2,3m&any=city=a;known=name&none=has_contact',
    )
    expect(bodyOf(state, kindOf)).toEqual({
      filters: {
        name: { value: ['x'], exact_match: true },
        location: { value: { near: { latitude: 1, longitude: 2, radius_m: 3 } } },
      },
      relations: { has_project: { stage: { value: ['filed'] }, cost: { value: [1, null] } }, without_signal: {} },
      any: [{ filters: { city: { value: ['a'] }, name: { known: true } } }],
      none: [{ relations: { has_contact: {} } }],
    })
  })

  it('has alternatives for each choice of unknown', () => {
    const state = read('/accounts?stage=a&unknown=stage&any=city=a&any=city=b')
    const filters = bodyOf(state, kindOf).any?.map((g) => g.filters)
    expect(filters).toEqual([
      { city: { value: ['a'] }, stage: { value: ['a'] } },
      { city: { value: ['a'] }, stage: { known: false } },
      { city: { value: ['b'] }, stage: { value: ['a'] } },
      { city: { value: ['b'] }, stage: { known: false } },
    ])
  })
})
