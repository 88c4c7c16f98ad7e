import { describe, expect, it } from 'vitest'
import type { Domain, Provider } from '../api/identity'
import { changeOf, domainHint, domainState, factsOf, formOf, needsSecret } from './provider-texts'

const domain = (more: Partial<Domain>): Domain => ({
  domain: 'firm.example',
  record_name: '_atlas.firm.example',
  record_text: 'atlas-domain=x',
  proved_at: null,
  proved_by: null,
  checked_at: null,
  failing_since: null,
  created_at: '2026-02-14T09:30:00.000Z',
  ...more,
})
const at = '2026-02-15T09:30:00.000Z'

const provider: Provider = {
  issuer: 'https://login.firm.example',
  client_id: 'atlas',
  scopes: ['openid', 'email'],
  required: true,
  role_claim: 'groups',
  roles: { ' chiefs ': 'owner', all: 'member' },
  default_role: 'member',
  session_hours: 8,
  idle_minutes: 30,
  revision: 7,
  created_at: at,
  updated_at: at,
  updated_by: null,
}

describe('domains in words', () => {
  it('describes their state, and what to do', () => {
    expect(domainState(domain({}))).toEqual({ text: 'not proved', good: false })
    expect(domainHint(domain({}))).toContain('Publish')
    expect(domainHint(domain({ checked_at: at }))).toContain('not found')
    expect(domainHint(domain({ proved_at: at, proved_by: 'dns', checked_at: at }))).toBeUndefined()
    const failing = domain({ proved_at: at, proved_by: 'dns', checked_at: at, failing_since: at })
    expect(domainState(failing)).toEqual({ text: 'record missing', good: false })
    expect(domainHint(failing)).toContain('three days')
    // An operator's proof needs no record.
    const theirs = domain({ proved_at: at, proved_by: 'operator', failing_since: at })
    expect(domainState(theirs)).toEqual({ text: 'proved by the operator', good: true })
    expect(domainHint(theirs)).toBeUndefined()
  })
})

describe('the form of a provider', () => {
  it('has no change for an unchanged form', () => {
    expect(changeOf(formOf(provider), provider, true)).toEqual({
      issuer: provider.issuer,
      client_id: 'atlas',
      scopes: ['openid', 'email'],
      required: true,
      role_claim: 'groups',
      roles: { ' chiefs ': 'owner', all: 'member' },
      default_role: 'member',
      session_hours: 8,
      idle_minutes: 30,
      revision: 7,
    })
  })
  it('has no roles without a claim, and no secret that was not written', () => {
    const form = { ...formOf(provider), roleClaim: ' ', scopes: 'openid  email,openid' }
    expect(changeOf(form, null, false)).toEqual({
      issuer: provider.issuer,
      client_id: 'atlas',
      scopes: ['openid', 'email'],
      required: false,
      default_role: 'member',
      session_hours: 8,
      idle_minutes: 30,
    })
    expect(changeOf({ ...form, secret: ' s ' }, null, false).client_secret).toBe(' s ')
  })
  it('needs the secret of another issuer or client', () => {
    expect(needsSecret(formOf(null), null)).toBe(true)
    expect(needsSecret(formOf(provider), provider)).toBe(false)
    expect(needsSecret({ ...formOf(provider), clientId: 'other' }, provider)).toBe(true)
  })
  it('describes a provider', () => {
    const facts = new Map(factsOf(provider))
    expect(facts.get('Roles')).toContain('all: member')
    expect(facts.get('Everybody else of the domains')).toBe('joins as a member')
    expect(new Map(factsOf({ ...provider, role_claim: null, default_role: null })).get('Roles')).toBe(
      'given in the workspace',
    )
  })
})
