import { expect, it } from 'vitest'
import { Conflict, mergeOf, noAnnotations, undoOf, type Annotations } from './book'

const seen: Annotations = { workspace_status: 'open', tags: ['kept', 'gone'], notes: null, icp_tier: null }

function keysOfConflict(...of: Parameters<typeof mergeOf>): string[] {
  try {
    mergeOf(...of)
  } catch (error) {
    if (error instanceof Conflict) return error.keys
  }
  return []
}

it('saves values that nobody else has changed', () => {
  const next = { workspace_status: 'won' }
  expect(mergeOf(next, seen, { ...seen, notes: 'theirs' })).toEqual(next)
  expect(mergeOf(next, seen, { ...seen, workspace_status: 'won' })).toEqual(next)
})

it('merges tags of both', () => {
  expect(mergeOf({ tags: ['kept', 'mine'] }, seen, { ...seen, tags: ['kept', 'gone', 'theirs'] })).toEqual({
    tags: ['kept', 'theirs', 'mine'],
  })
})

it('conflicts where both have changed the same value', () => {
  expect(keysOfConflict({ workspace_status: 'won' }, seen, { ...seen, workspace_status: 'lost' })).toEqual([
    'workspace_status',
  ])
  const both = { tags: ['mine'], workspace_status: 'won' }
  expect(keysOfConflict(both, seen, { ...seen, tags: ['theirs'], workspace_status: 'lost' })).toEqual([
    'workspace_status',
  ])
})

it('conflicts where somebody else has removed the record from the book, or changed what is removed', () => {
  expect(keysOfConflict({ workspace_status: 'won' }, seen, null)).toEqual(['workspace_status'])
  expect(keysOfConflict({ tags: ['mine'] }, seen, null)).toEqual(['tags'])
  // Also for a value that was empty: saving it would restore the record.
  expect(keysOfConflict({ notes: 'mine' }, seen, null)).toEqual(['notes'])
  expect(keysOfConflict(null, seen, { ...seen, notes: 'theirs' })).toEqual(['notes'])
})

it('merges with a record that somebody else has added to the book meanwhile', () => {
  expect(mergeOf({ tags: ['mine'] }, null, { ...noAnnotations, tags: ['theirs'] })).toEqual({
    tags: ['theirs', 'mine'],
  })
})

it('undoes a change to the values just before it', () => {
  const before = { ...seen, tags: ['a', 'theirs'] }
  expect(undoOf({ next: { tags: ['a', 'mine'] }, seen }, { now: seen, before })).toEqual({
    next: { tags: ['a', 'theirs'] },
    seen,
  })
  // Somebody else put it into the book meanwhile: it stays there.
  const theirs = { ...noAnnotations, notes: 'theirs' }
  const now = { ...theirs, workspace_status: 'won' }
  expect(undoOf({ next: { workspace_status: 'won' }, seen: null }, { now, before: theirs })).toEqual({
    next: { workspace_status: null },
    seen: now,
  })
  expect(undoOf({ next: { workspace_status: 'won' } }, { now, before: null })).toEqual({ next: null, seen: now })
  expect(undoOf({ next: null }, { now: null, before: seen })).toEqual({ next: seen, seen: null })
})

it('has no undo for values that were overwritten unread, or deleted', () => {
  expect(undoOf({ next: { notes: 'n' } }, { now: seen, before: undefined })).toBeUndefined()
  expect(undoOf({ next: null }, { now: null, before: null })).toBeUndefined()
})
