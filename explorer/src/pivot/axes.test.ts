import { describe, expect, it } from 'vitest'
import type { SearchState } from '../search/state'
import { searchOf, type Axis, type Group } from './axes'

const axis = (key: string): Axis => ({ key, kind: 'values' })
const value = (value: string): Group => ({ group: 'value', value, count: 3 })

describe('the search of a cell', () => {
  const state: SearchState = {
    dataset: 'accounts',
    query: '',
    conditions: {
      account_type: { kind: 'values', values: ['owner', 'developer'], unknown: true },
      city: { kind: 'values', values: ['calgary', 'airdrie'] },
    },
  }

  it('narrows a condition on a field with one value', () => {
    expect(searchOf(state, [[axis('city'), value('calgary')]], 3)?.conditions.city).toEqual({
      kind: 'values',
      values: ['calgary'],
    })
  })

  it('does not replace a condition on a list', () => {
    expect(searchOf(state, [[axis('account_type'), value('general_contractor')]], 3)).toBeUndefined()
    const without: SearchState = { ...state, conditions: {} }
    expect(searchOf(without, [[axis('account_type'), value('owner')]], 3)?.conditions.account_type).toEqual({
      kind: 'values',
      values: ['owner'],
    })
    const unknown: Group = { group: 'unknown', count: 3 }
    expect(searchOf(state, [[axis('account_type'), unknown]], 3)?.conditions.account_type).toEqual({
      kind: 'known',
      known: false,
    })
  })
})
