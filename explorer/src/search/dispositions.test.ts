import { expect, test } from 'vitest'
import { dispositionsOf } from './dispositions'
import type { SearchState } from './state'

const stage: SearchState = {
  dataset: 'projects',
  query: '',
  conditions: { stage: { kind: 'values', values: ['under_construction'] } },
}
const counts = {
  facets: [
    {
      field: 'disposition',
      unknown: 0,
      values: ['active', 'on_hold', 'cancelled'].map((value, i) => ({ value, label: value, count: 2 - i })),
    },
  ],
}

test('a stage contains what is on hold, unless the search has its own condition', () => {
  expect(dispositionsOf(stage, counts).map((v) => v.value)).toEqual(['on_hold'])
  expect(dispositionsOf(stage, undefined)).toEqual([])
  expect(dispositionsOf({ ...stage, conditions: {} }, counts)).toEqual([])
  const active: SearchState['conditions'] = { disposition: { kind: 'values', values: ['active'] } }
  expect(dispositionsOf({ ...stage, conditions: { ...stage.conditions, ...active } }, counts)).toEqual([])
})
