import type { ApiKey, KeyLimits, KeyPolicy, KeyScope } from '../api/api-keys'
import { formatDay, formatMoment, formatNumber } from '../format'

/** scopes are the permissions of keys, in words. */
export const scopes: [KeyScope, string][] = [
  ['data:read', 'Read the data: firms, people, projects, signals'],
  ['workspace:read', 'Read the workspace: its book, Views, members'],
  ['workspace:write', 'Change the workspace: its book, Views, webhooks'],
  ['workspace:admin', 'Act as an admin: members, invitations, keys'],
]

/** toggledScope adds a scope to a choice or removes it, in the fixed order. */
export function toggledScope(chosen: KeyScope[], scope: KeyScope): KeyScope[] {
  return scopes.map(([s]) => s).filter((s) => (s === scope) !== chosen.includes(s))
}

/** lifetimes are how long a new key can live, in days; 0: without an end. */
export const lifetimes: [number, string][] = [
  [30, '30 days'],
  [90, '90 days'],
  [365, 'a year'],
  [0, 'without an end'],
]

/** networksOf are the networks in a text, with commas, blanks or lines between them. */
export function networksOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((n) => n !== ''))]
}

/** stateOf describes the state of a key. */
export function stateOf({ state, expires_at, revoked_at }: ApiKey): string {
  switch (state) {
    case 'active':
      return expires_at ? `ends ${formatDay(expires_at)}` : 'without an end'
    case 'expired':
      return `ended ${expires_at ? formatDay(expires_at) : ''}`.trim()
    case 'revoked':
      return `revoked ${revoked_at ? formatDay(revoked_at) : ''}`.trim()
    case 'restricted':
      return 'restricted by the operator'
  }
}

/** lastUseText describes when and from where a key or a token was last used. */
export function lastUseText({ last_used_at, last_network }: Pick<ApiKey, 'last_used_at' | 'last_network'>): string {
  if (!last_used_at) return 'never used'
  const from = last_network ? ` from ${last_network.replace(/\/32$/, '')}` : ''
  return `used ${formatMoment(new Date(last_used_at))}${from}`
}

/** creatorOf names the creator of a key. people are names by ids. */
export function creatorOf({ by_operator, created_by, created_by_key }: ApiKey, people: Map<string, string>): string {
  if (by_operator) return 'the operator'
  const person = (created_by && people.get(created_by)) || 'somebody'
  if (!created_by_key) return person
  return created_by ? `a key of ${person}` : 'a key'
}

/** canRotate reports whether a person may give a key a new secret: its creator, or the creator of its creating key. */
export const canRotate = (person: string | undefined, { by_operator, created_by }: ApiKey) =>
  !by_operator && created_by !== null && created_by === person

/** isUsable reports whether a key can be used. */
export const isUsable = ({ state }: ApiKey) => state === 'active' || state === 'restricted'

/** limitsOf is the policy of a form. All scopes, and empty numbers, limit nothing. */
export function limitsOf(chosen: KeyScope[], days: string, credits: string, networks: boolean): KeyLimits {
  return {
    networks_required: networks,
    ...(chosen.length < scopes.length && { scopes: chosen }),
    ...(days !== '' && { max_days: Number(days) }),
    ...(credits !== '' && { max_daily_credits: Number(credits) }),
  }
}

/** policyText describes a policy. */
export function policyText(p: KeyPolicy): string {
  const rules = [
    p.scopes && `have no scopes but ${p.scopes.join(', ')}`,
    p.max_days !== null && `end within ${formatNumber(p.max_days)} days`,
    p.networks_required && 'name their networks',
    p.max_daily_credits !== null && `have a budget of at most ${formatNumber(p.max_daily_credits)} credits a day`,
  ].filter((r): r is string => typeof r === 'string')
  if (rules.length === 0) return 'New keys may be of any kind.'
  return `New keys must ${rules.join(', and ')}.`
}

const outside: Record<ApiKey['outside_policy'][number], string> = {
  scopes: 'its scopes',
  expires_at: 'its end',
  networks: 'its networks',
  daily_credits: 'its budget',
}

/** outsideOf lists what the policy no longer permits of a key, undefined for nothing. */
export function outsideOf({ outside_policy }: ApiKey): string | undefined {
  if (outside_policy.length === 0) return undefined
  return `Outside of what the workspace permits: ${outside_policy.map((m) => outside[m]).join(', ')}`
}
