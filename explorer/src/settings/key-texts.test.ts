import { expect, test } from 'vitest'
import type { ApiKey } from '../api/api-keys'
import { formatDay, formatMoment } from '../format'
import {
  isUsable,
  limitsOf,
  creatorOf,
  networksOf,
  policyText,
  canRotate,
  scopes,
  stateOf,
  toggledScope,
  lastUseText,
} from './key-texts'

const at = '2026-03-01T09:00:00.000Z'
const key: ApiKey = {
  id: 'x',
  name: 'Export',
  start: 'atlas_k1_0AbC',
  state: 'active',
  scopes: ['data:read'],
  networks: [],
  daily_credits: null,
  requests_per_second: null,
  by_operator: false,
  created_by: 'ann',
  created_by_key: null,
  created_at: at,
  expires_at: null,
  revoked_at: null,
  old_secret_until: null,
  last_used_at: null,
  last_network: null,
  outside_policy: [],
}

test('a scope is added in the fixed order, and removed', () => {
  expect(toggledScope(['workspace:write'], 'data:read')).toEqual(['data:read', 'workspace:write'])
  expect(toggledScope(['data:read', 'workspace:write'], 'data:read')).toEqual(['workspace:write'])
})

test('networks are separated by commas, blanks or lines, each once', () => {
  expect(networksOf(' 203.0.113.0/24, 2001:db8::/48;203.0.113.0/24\n198.51.100.7 ')).toEqual([
    '203.0.113.0/24',
    '2001:db8::/48',
    '198.51.100.7',
  ])
  expect(networksOf(' \n')).toEqual([])
})

test('the state of a key in words', () => {
  expect(stateOf(key)).toBe('without an end')
  expect(stateOf({ ...key, expires_at: at })).toBe(`ends ${formatDay(at)}`)
  expect(stateOf({ ...key, state: 'expired', expires_at: at })).toBe(`ended ${formatDay(at)}`)
  expect(stateOf({ ...key, state: 'revoked', revoked_at: at })).toBe(`revoked ${formatDay(at)}`)
  expect(stateOf({ ...key, state: 'restricted' })).toBe('restricted by the operator')
  expect(['active', 'restricted', 'expired', 'revoked'].map((state) => isUsable({ ...key, state } as ApiKey))).toEqual([
    true,
    true,
    false,
    false,
  ])
})

test('the last use of a key in words', () => {
  const when = formatMoment(new Date(at))
  expect(lastUseText(key)).toBe('never used')
  expect(lastUseText({ ...key, last_used_at: at })).toBe(`used ${when}`)
  expect(lastUseText({ ...key, last_used_at: at, last_network: '203.0.113.7/32' })).toBe(
    `used ${when} from 203.0.113.7`,
  )
  expect(lastUseText({ ...key, last_used_at: at, last_network: '2001:db8::/64' })).toBe(
    `used ${when} from 2001:db8::/64`,
  )
})

test('only its creator can rotate a key', () => {
  expect(canRotate('ann', key)).toBe(true)
  expect(canRotate('ann', { ...key, created_by_key: 'k' })).toBe(true)
  expect(canRotate('bob', key)).toBe(false)
  expect(canRotate(undefined, key)).toBe(false)
  expect(canRotate('ann', { ...key, created_by: null, created_by_key: 'k' })).toBe(false)
  expect(canRotate('ann', { ...key, created_by: null, by_operator: true })).toBe(false)
})

test('the creator of a key in words', () => {
  const people = new Map([['ann', 'Ann Example']])
  expect(creatorOf(key, people)).toBe('Ann Example')
  expect(creatorOf({ ...key, created_by_key: 'k' }, people)).toBe('a key of Ann Example')
  expect(creatorOf({ ...key, created_by: null, created_by_key: 'k' }, people)).toBe('a key')
  expect(creatorOf({ ...key, created_by: 'gone' }, people)).toBe('somebody')
  expect(creatorOf({ ...key, created_by: null, by_operator: true }, people)).toBe('the operator')
})

test('a policy in words, and as the form has it', () => {
  const free = limitsOf(
    scopes.map(([s]) => s),
    '',
    '',
    false,
  )
  expect(free).toEqual({ networks_required: false })
  expect(limitsOf(['data:read'], '7', '500', true)).toEqual({
    networks_required: true,
    scopes: ['data:read'],
    max_days: 7,
    max_daily_credits: 500,
  })
  const none = {
    scopes: null,
    max_days: null,
    networks_required: false,
    max_daily_credits: null,
    updated_at: null,
    updated_by: null,
  }
  expect(policyText(none)).toBe('New keys may be of any kind.')
  expect(policyText({ ...none, max_days: 1000, networks_required: true })).toBe(
    'New keys must end within 1,000 days, and name their networks.',
  )
})
