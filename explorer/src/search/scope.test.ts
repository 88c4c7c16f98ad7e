import { describe, expect, it } from 'vitest'
import { clausesOf } from './clauses'
import type { Condition, KindOf } from './conditions'
import { conditionsAt, bodyWithout, withConditionAt, withExclusion, type Scope } from './scope'
import { relaxationsOf } from './relax'
import type { SearchState } from './state'

const values = (...all: string[]): Condition => ({ kind: 'values', values: all })
const kindOf: KindOf = (_, key) => (/^(has|without)_/.test(key) ? 'relation' : key === 'cost' ? 'number' : 'values')
const empty: SearchState = { dataset: 'accounts', query: '', conditions: {} }
const words = (state: SearchState) => ({ state, kindOf, valueLabel: (_: string, v: string) => v.toUpperCase() })
const phrases = (state: SearchState) =>
  clausesOf(words(state)).map((c) => [c.word, c.field, c.label].filter(Boolean).join(' '))

const inProject: Scope = { relation: 'has_project' }
const firms = withConditionAt(withConditionAt(empty, inProject, 'stage', values('permitted')), inProject, 'cost', {
  kind: 'range',
  from: '1000000',
})

describe('a scope', () => {
  it('is in the search, in a group, or on a related record', () => {
    expect(conditionsAt(firms, inProject)).toHaveProperty('cost')
    const group: Scope = { group: { of: 'any', at: 0 } }
    const state = withConditionAt(firms, { ...group, relation: 'has_signal' }, 'stage', values('filed'))
    expect(state.any).toEqual([{ has_signal: { kind: 'related', conditions: { stage: values('filed') } } }])
    expect(withConditionAt(state, group, 'has_signal', undefined)).toEqual(firms)
  })

  it('preserves a relation without conditions, and drops an empty group', () => {
    const bare = withConditionAt(withConditionAt(firms, inProject, 'stage', undefined), inProject, 'cost', undefined)
    expect(phrases(bare)).toEqual(['has a project'])
    const group: Scope = { group: { of: 'none', at: 0 } }
    expect(withConditionAt(withConditionAt(empty, group, 'city', values('a')), group, 'city', undefined)).toEqual(empty)
  })

  it('is counted without its own condition', () => {
    expect(bodyWithout(firms, inProject, 'stage', kindOf)).toEqual({ filters: { cost: { value: [1000000, null] } } })
    const state = withConditionAt({ ...firms, query: 'x' }, { group: { of: 'any', at: 0 } }, 'city', values('a'))
    expect(bodyWithout(state, { group: { of: 'any', at: 0 } }, 'city', kindOf)).toMatchObject({
      query: 'x',
      relations: {},
    })
    expect(bodyWithout(state, { group: { of: 'any', at: 0 } }, 'city', kindOf)).not.toHaveProperty('any')
  })
})

it('excludes values instead of including them', () => {
  const included = withConditionAt(empty, {}, 'city', values('a'))
  const excluded = withExclusion(included, 'city', ['a', 'b'])
  expect(excluded).toEqual({ ...empty, none: [{ city: values('a', 'b') }] })
  expect(phrases(excluded)).toEqual(['City is not A or B'])
  expect(withExclusion(excluded, 'city', ['b']).none).toEqual([{ city: values('b') }])
  expect(withExclusion(excluded, 'city', [])).toEqual(empty)
})

it('reads as a sentence', () => {
  let state = withConditionAt(firms, {}, 'without_contact', { kind: 'related', conditions: { role: values('owner') } })
  state = withConditionAt(state, { group: { of: 'any', at: 0 } }, 'city', values('calgary'))
  state = withConditionAt(state, { group: { of: 'any', at: 1 } }, 'city', { kind: 'known', known: false })
  state = withConditionAt(state, { group: { of: 'none', at: 0 } }, 'city', values('airdrie'))
  state = withConditionAt(state, { group: { of: 'none', at: 0 } }, 'has_signal', { kind: 'related', conditions: {} })
  expect(phrases(state)).toEqual([
    'has at least one project where Stage is PERMITTED and Cost is at least 1,000,000',
    'has no person where Role is OWNER',
    'either City is CALGARY',
    'or City is unknown',
    'not City is AIRDRIE and has a signal',
  ])
})

it('lists the relaxations of a search', () => {
  let state = withConditionAt({ ...firms, query: 'x' }, { group: { of: 'any', at: 0 } }, 'city', values('a'))
  state = withConditionAt(state, { group: { of: 'none', at: 0 } }, 'city', { kind: 'known', known: true })
  const ways = relaxationsOf(words(state))
  expect(ways.map((w) => w.text)).toEqual([
    '“x”',
    'has at least one project where Stage is PERMITTED and Cost is at least 1,000,000',
    'Stage is PERMITTED, of the project',
    'Cost is at least 1,000,000, of the project',
    'excluding City is known',
    'the alternatives',
  ])
  expect(conditionsAt(ways[2]?.state ?? empty, inProject)).toEqual({ cost: { kind: 'range', from: '1000000' } })
  expect(ways[5]?.state).not.toHaveProperty('any')
  const texts = (query: string) =>
    relaxationsOf(words({ ...firms, conditions: {}, query })).map((w) => [w.text, w.state.query])
  expect(texts('garage  calgary')).toEqual([
    ['“garage  calgary”', ''],
    ['“garage”', 'calgary'],
    ['“calgary”', 'garage'],
  ])
  expect(texts('"garage calgary"')).toHaveLength(1)
})
