import { expect, it } from 'vitest'
import { chosen, groupsOf, keyOf, prefixOf, step, type Suggestion } from './suggestions'
import type { SearchState } from './state'

const city: Suggestion = { field: 'city', value: 'Calgary', count: 9 }
const firm: Suggestion = { field: 'name', value: 'Calder', id: 'a', count: 3 }
const twin: Suggestion = { ...firm, id: 'b' }

it('completes only what has a word and is not too long', () => {
  expect(prefixOf('  cal ')).toBe('cal')
  expect(prefixOf('東')).toBe('東')
  expect(prefixOf('---')).toBeUndefined()
  expect(prefixOf('')).toBeUndefined()
  expect(prefixOf('😀'.repeat(99) + 'a')).toHaveLength(199)
  expect(prefixOf('a'.repeat(101))).toBeUndefined()
})

it('groups by what choosing does, and says the price', () => {
  const groups = groupsOf([firm, city, twin], 'accounts')
  expect(groups.map((g) => [g.heading, g.suggestions])).toEqual([
    ['Filter', [city]],
    ['Open a firm', [firm, twin]],
  ])
  expect(groups[1]?.price).toContain('1 credit')
  expect(groupsOf([], 'accounts')).toEqual([])
  expect(new Set([city, firm, twin].map(keyOf)).size).toBe(3)
})

it('steps through the list and back to the text box', () => {
  const keys = ['x', 'y']
  expect(step(keys, undefined, 1)).toBe('x')
  expect(step(keys, 'x', 1)).toBe('y')
  expect(step(keys, 'y', 1)).toBeUndefined()
  expect(step(keys, undefined, -1)).toBe('y')
  expect(step(keys, 'x', -1)).toBeUndefined()
  expect(step(keys, 'gone', 1)).toBe('x')
  expect(step([], undefined, 1)).toBeUndefined()
})

it('puts what was chosen in place of what was typed', () => {
  const state: SearchState = {
    dataset: 'projects',
    query: 'cal',
    record: 'r',
    conditions: { city: { kind: 'values', values: ['Airdrie', 'Calgary'] } },
  }
  expect(chosen(state, city)).toEqual({
    dataset: 'projects',
    query: '',
    conditions: { city: { kind: 'values', values: ['Airdrie', 'Calgary'] } },
  })
  expect(chosen({ ...state, conditions: {} }, city).conditions).toEqual({
    city: { kind: 'values', values: ['Calgary'] },
  })
  expect(chosen(state, firm)).toEqual({ ...state, query: 'Calder', record: 'a' })
  expect(chosen(state, { ...firm, value: 'x'.repeat(20_000) }).query).toBe('')
})
