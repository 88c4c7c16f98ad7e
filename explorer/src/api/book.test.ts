import { expect, it } from 'vitest'
import { Conflict, mergeOf, noAnnotations, type Annotations } from './book'

const seen: Annotations = { workspace_status: 'open', tags: ['kept', 'gone'], notes: null, icp_tier: null }

function keysOfConflict(...of: Parameters<typeof mergeOf>): string[] {
  try {
    mergeOf(...of)
  } catch (error) {
    if (error instanceof Conflict) return error.keys
  }
  return []
}

it('saves what nobody else has changed', () => {
  const next = { workspace_status: 'won' }
  expect(mergeOf(next, seen, { ...seen, notes: 'theirs' })).toEqual(next)
  expect(mergeOf(next, seen, { ...seen, workspace_status: 'won' })).toEqual(next)
})

it('keeps tags of both', () => {
  expect(mergeOf({ tags: ['kept', 'mine'] }, seen, { ...seen, tags: ['kept', 'gone', 'theirs'] })).toEqual({
    tags: ['kept', 'theirs', 'mine'],
  })
})

it('asks where both have changed something else', () => {
  expect(keysOfConflict({ workspace_status: 'won' }, seen, { ...seen, workspace_status: 'lost' })).toEqual([
    'workspace_status',
  ])
  const both = { tags: ['mine'], workspace_status: 'won' }
  expect(keysOfConflict(both, seen, { ...seen, tags: ['theirs'], workspace_status: 'lost' })).toEqual([
    'workspace_status',
  ])
})

it('asks where somebody else has taken the record out of the book, or changed what is taken out', () => {
  expect(keysOfConflict({ workspace_status: 'won' }, seen, null)).toEqual(['workspace_status'])
  expect(keysOfConflict({ tags: ['mine'] }, seen, null)).toEqual(['tags'])
  expect(keysOfConflict(null, seen, { ...seen, notes: 'theirs' })).toEqual(['notes'])
})

it('adds to a record that somebody else has put in the book meanwhile', () => {
  expect(mergeOf({ tags: ['mine'] }, null, { ...noAnnotations, tags: ['theirs'] })).toEqual({
    tags: ['theirs', 'mine'],
  })
})
