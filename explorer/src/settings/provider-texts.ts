import type { Domain, Provider, ProviderChange } from '../api/identity'
import { formatMoment } from '../format'

/** domainState describes the state of a domain. */
export function domainState(d: Domain): { text: string; good: boolean } {
  if (!d.proved_at) return { text: 'not proved', good: false }
  if (d.proved_by === 'operator') return { text: 'proved by the operator', good: true }
  if (d.failing_since) return { text: 'record missing', good: false }
  return { text: 'proved', good: true }
}

/** domainHint says what to do about a domain, undefined for nothing. */
export function domainHint(d: Domain): string | undefined {
  if (d.proved_at && d.failing_since && d.proved_by !== 'operator')
    return `Its record is missing since ${formatMoment(new Date(d.failing_since))}. Put it back: the domain is lost after three days, and nobody signs in with an address of it then.`
  if (d.proved_at) return undefined
  if (d.checked_at)
    return `Looked for ${formatMoment(new Date(d.checked_at))}, and not found. New records may need an hour to be seen.`
  return 'Publish this text record where the DNS of the domain is kept, then check it.'
}

/** RoleRow is a value of the claim, and the role that it gives. */
export interface RoleRow {
  value: string
  role: 'owner' | 'admin' | 'member'
}

/** ProviderForm is a provider as its form has it; numbers are texts. */
export interface ProviderForm {
  issuer: string
  clientId: string
  secret: string
  scopes: string
  roleClaim: string
  roles: RoleRow[]
  defaultRole: '' | 'admin' | 'member'
  sessionHours: string
  idleMinutes: string
}

export const formOf = (p: Provider | null): ProviderForm => ({
  issuer: p?.issuer ?? '',
  clientId: p?.client_id ?? '',
  secret: '',
  scopes: (p?.scopes ?? ['openid', 'email', 'profile']).join(' '),
  roleClaim: p?.role_claim ?? '',
  roles: Object.entries(p?.roles ?? {}).map(([value, role]) => ({ value, role })),
  defaultRole: p?.default_role ?? '',
  sessionHours: String(p?.session_hours ?? 12),
  idleMinutes: String(p?.idle_minutes ?? 60),
})

/** changeOf is the change that a form describes. Without a claim there are no roles. */
export function changeOf(f: ProviderForm, before: Provider | null, required: boolean): ProviderChange {
  const claim = f.roleClaim.trim()
  const roles = Object.fromEntries(f.roles.filter((r) => r.value.trim() !== '').map((r) => [r.value, r.role]))
  return {
    issuer: f.issuer.trim(),
    client_id: f.clientId.trim(),
    ...(f.secret !== '' && { client_secret: f.secret }),
    scopes: [...new Set(f.scopes.split(/[\s,]+/).filter((s) => s !== ''))],
    required,
    ...(claim && { role_claim: claim, roles }),
    ...(f.defaultRole && { default_role: f.defaultRole }),
    session_hours: Number(f.sessionHours),
    idle_minutes: Number(f.idleMinutes),
    ...(before && { revision: before.revision }),
  }
}

/** needsSecret reports whether a form must have a secret: that of another issuer or client is not known. */
export const needsSecret = (f: ProviderForm, before: Provider | null) =>
  !before || before.issuer !== f.issuer.trim() || before.client_id !== f.clientId.trim()

/** factsOf describes a provider, line by line. */
export function factsOf(p: Provider): [name: string, value: string][] {
  const roles = Object.entries(p.roles).map(([value, role]) => `${value}: ${role}`)
  return [
    ['Issuer', p.issuer],
    ['Client id', p.client_id],
    ['Asks for', p.scopes.join(' ')],
    ['Roles', p.role_claim ? `by the claim ${p.role_claim} (${roles.join(', ')})` : 'given in the workspace'],
    [
      'Everybody else of the domains',
      p.default_role ? `joins as ${p.default_role === 'admin' ? 'an admin' : 'a member'}` : 'does not get in',
    ],
    ['Sessions', `${p.session_hours} hours at most, ${p.idle_minutes} minutes after the last request`],
  ]
}
