import { expect, it } from 'vitest'
import type { WorkspaceChange } from '../api/history'
import { entriesOf } from './entries'

const names = { users: new Map([['u', 'Olga']]), lists: new Map([['v', 'Towers']]) }
const id = '0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10'
const own = (at: string, change: Partial<WorkspaceChange>): WorkspaceChange => ({
  op: 'upsert',
  kind: 'overlay',
  id,
  at,
  by: { user_id: 'u' },
  changed: [],
  ...change,
})

it('has signals and the changes of the data and of the workspace, the latest first', () => {
  const data = [
    { op: 'delete' as const, at: '2026-01-09T00:00:00.000Z', changed: [] },
    { op: 'upsert' as const, at: '2026-01-03T00:00:00.000Z', changed: ['stage', 'cost', 'updated_at'] },
    { op: 'upsert' as const, at: '2026-01-01T00:00:00.000Z', changed: ['id', 'name', 'stage'] },
  ]
  const workspace = [
    own('2026-01-08T00:00:00.000Z', { op: 'delete', by: { key_id: 'k' } }),
    own('2026-01-07T00:00:00.000Z', { by: { operator: true }, changed: ['atlas_score'] }),
    own('2026-01-06T00:00:00.000Z', { kind: 'membership', view_id: 'gone', op: 'delete', by: { user_id: 'left' } }),
    own('2026-01-05T00:00:00.000Z', { kind: 'membership', view_id: 'v' }),
    own('2026-01-04T00:00:00.000Z', { changed: ['notes', 'tags'] }),
    own('2026-01-02T00:00:00.000Z', { changed: ['atlas_score', 'atlas_trend'] }),
  ]
  const signals = [
    { id: 's', title: 'A permit is issued', occurred_at: '2026-01-05T12:00:00.000Z' },
    { id: 'r', title: 'A permit is filed', occurred_at: '2025-12-05T00:00:00.000Z' },
  ]
  const entries = entriesOf(signals, data, workspace, names)
  expect(entries.flatMap((e) => e.signal ?? [])).toEqual(['s', 'r'])
  expect(entries.map(({ who, what }) => `${who}: ${what}`)).toEqual([
    ': Left the data',
    'An API key: removed it from the book',
    'Atlas: changed Atlas score',
    'A former member: removed it from a list',
    ': A permit is issued',
    'Olga: added it to the list “Towers”',
    'Olga: changed Notes and Tags',
    ': Stage and Cost changed',
    'Olga: added it to the book',
    ': New in the data',
    ': A permit is filed',
  ])
})

it('omits changes that are not about a record', () => {
  expect(entriesOf([], [], [own('2026-01-01T00:00:00.000Z', { kind: 'member' })], names)).toEqual([])
})
