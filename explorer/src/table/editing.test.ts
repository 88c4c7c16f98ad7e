import { expect, it } from 'vitest'
import { noAnnotations } from '../api/book'
import type { AnyRecord } from '../datasets'
import { canEdit, changeIn, seenIn } from './editing'

const row = (values: object) => ({ id: 'i', name: 'N', updated_at: '2026-01-01', ...values }) as unknown as AnyRecord

it('has no change for an unchanged value', () => {
  const seen = { ...noAnnotations, notes: 'one\r\ntwo ', tags: ['a', 'b'], workspace_status: null }
  expect(changeIn('notes', 'one\ntwo', seen)).toBeUndefined()
  expect(changeIn('tags', ' a, b ', seen)).toBeUndefined()
  expect(changeIn('workspace_status', ' ', seen)).toBeUndefined()
})

it('parses the typed text, and null for an empty one', () => {
  const seen = { ...noAnnotations, notes: 'n', tags: ['a'] }
  expect(changeIn('tags', 'b,, a, b', seen)).toEqual({ tags: ['b', 'a'] })
  expect(changeIn('tags', '', seen)).toEqual({ tags: [] })
  expect(changeIn('notes', '', seen)).toEqual({ notes: null })
  expect(changeIn('icp_tier', 'tier_1', null)).toEqual({ icp_tier: 'tier_1' })
})

it('knows whether a row is in the book, and which of its cells it can change', () => {
  expect(seenIn(row({ updated_at: null, tags: null }))).toBeNull()
  expect(seenIn(row({ tags: null, notes: 'n' }))).toEqual({ ...noAnnotations, notes: 'n', icp_tier: null })
  expect(canEdit(row({ tags: ['a, b'] }), 'tags')).toBe(false)
  expect(canEdit(row({ tags: null }), 'tags')).toBe(true)
  expect(canEdit(row({}), 'tags')).toBe(false)
  expect(canEdit(row({}), 'name')).toBe(false)
})
