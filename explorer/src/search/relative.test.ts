import { expect, it } from 'vitest'
import { phrase } from './phrases'
import { dayOf, isRelative } from './relative'
import { parse, bodyOf, type KindOf } from './state'

// The day 31 of a month, near its end.
const now = new Date('2024-03-31T23:30:00Z')

it.each([
  ['today', '2024-03-31', '2024-03-31'],
  ['now', '2024-03-31', '2024-03-31'],
  ['now-90d', '2024-01-01', '2024-01-01'],
  ['today-2w', '2024-03-17', '2024-03-17'],
  ['now-1M', '2024-02-29', '2024-02-29'],
  ['now+1y', '2025-03-31', '2025-03-31'],
  ['now+1h', '2024-04-01', '2024-04-01'],
  ['2026-Q1', '2026-01-01', '2026-03-31'],
  ['2024-q4', '2024-10-01', '2024-12-31'],
  ['2024-02-29', '2024-02-29', '2024-02-29'],
])('%s is from %s to %s, as the service reads it', (text, from, to) => {
  expect([dayOf(text, 'from', now), dayOf(text, 'to', now)]).toEqual([from, to])
})

it('knows the texts that the service knows', () => {
  expect(['today', 'now-12h', 'today-1y', '2026-Q4'].every(isRelative)).toBe(true)
  expect(['today-1h', 'now-12345d', 'now-3m', '2026-Q5', 'yesterday', '7', ''].some(isRelative)).toBe(false)
})

it('sends a relative date unchanged, and describes it in words', () => {
  const kindOf: KindOf = (_, key) => (key === 'filed_at' ? 'date' : undefined)
  const says = (pairs: string) => {
    const state = parse('/projects', pairs, kindOf)
    const c = state.conditions['filed_at']
    const value = (bodyOf(state, kindOf).filters?.['filed_at'] as { value: unknown } | undefined)?.value
    return [value, c && phrase({ kindOf, state, valueLabel: (_, v) => v }, 'filed_at', c)]
  }
  expect(says('filed_at=now-90d..')).toEqual([['now-90d', null], 'is in the last 90 days'])
  expect(says('filed_at=2026-Q1')).toEqual([['2026-Q1', '2026-Q1'], 'is in Q1 2026'])
  expect(says('filed_at=today')).toEqual([['today', 'today'], 'is today'])
  expect(says('filed_at=today..now-3d')[0]).toEqual(['now-3d', 'today'])
})
