import { expect, it } from 'vitest'
import type { Descriptor } from '../api/queries'
import { optionsOf } from './options'
import { presetsOf } from './presets'

const stage = [{ value: 'permitted', label: 'Permitted', description: 'A permit was issued' }]
const fields: Descriptor[] = [
  { dataset: 'projects', key: 'description', kind: 'text', description: 'What is being built, at which stage' },
  { dataset: 'projects', key: 'stage', kind: 'enum', description: 'How far the project is', values: stage },
  { dataset: 'projects', key: 'permitted_at', kind: 'date', description: 'When the permit was issued' },
  { dataset: 'projects', key: 'email', kind: 'text', description: 'E-mail address' },
  { dataset: 'projects', key: 'has_signal', kind: 'relation', description: 'Has one related signal' },
]
const both = { relations: true, lists: true }
const keys = (text: string, where = both) => optionsOf(fields, where, text).map((o) => o.key)

it('offers everything, and marks what is not counted', () => {
  expect(keys('')).toEqual(['has_signal', 'group any', 'group none', 'description', 'stage', 'permitted_at', 'email'])
  expect(keys('', { relations: false, lists: false })).toEqual(['description', 'stage', 'permitted_at', 'email'])
  expect(optionsOf(fields, both, 'e-mail')[0]?.hint).toBe('E-mail address. Not counted: each row found costs a credit')
})

it('finds fields by name, then by description, and values', () => {
  expect(keys('stage')).toEqual(['stage', 'description'])
  expect(keys('PERMIT')).toEqual(['permitted_at', 'stage=permitted'])
  expect(keys('issued permit')).toEqual(['permitted_at'])
  expect(keys('xyz')).toEqual([])
})

it('writes the last days as relative dates and years as days', () => {
  expect(presetsOf(new Date('2024-03-01T23:59:00Z'))).toEqual([
    { label: 'Last 7 days', from: 'now-7d' },
    { label: 'Last 30 days', from: 'now-30d' },
    { label: 'Last 90 days', from: 'now-90d' },
    { label: 'Last 365 days', from: 'now-365d' },
    { label: 'This year', from: '2024-01-01', to: '2024-12-31' },
    { label: 'Last year', from: '2023-01-01', to: '2023-12-31' },
  ])
})
