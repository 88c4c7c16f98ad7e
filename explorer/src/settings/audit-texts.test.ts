import { describe, expect, it } from 'vitest'
import type { AuditEvent } from '../api/audit'
import { csvOf, detailsOf, textOf, actorOf } from './audit-texts'

const event = (more: Partial<AuditEvent>): AuditEvent => ({
  id: 1,
  at: '2026-02-14T09:30:00.123456Z',
  action: 'invitation.created',
  principal: { kind: 'user', id: 'u1' },
  network: '203.0.113.0/24',
  request_id: 'r1',
  object: { kind: 'invitation', id: 'i1' },
  fields: [],
  details: { role: 'admin', email: 'sha256:aa' },
  values: { 'sha256:aa': '=maria@example.com, "M"' },
  transaction: '7',
  number: 3,
  previous: null,
  digest: null,
  ...more,
})

describe('the audit log in words', () => {
  it('describes actions', () => {
    expect(textOf('api_key.created')).toBe('API key created')
    expect(textOf('webhook.secret_rotated')).toBe('Webhook secret rotated')
  })
  it('names who acted', () => {
    const people = new Map([['u1', 'Olga']])
    expect(actorOf(event({}), people)).toBe('Olga')
    expect(actorOf(event({ principal: { kind: 'user', id: 'u2' } }), people)).toBe('A former member, u2')
    expect(
      actorOf(event({ principal: { kind: 'operator', id: null }, details: { command: 'key create' } }), people),
    ).toBe('The operator: key create')
  })
  it('shows values until they are erased', () => {
    expect(detailsOf(event({}))).toBe('role: admin · email: =maria@example.com, "M"')
    expect(detailsOf(event({ values: {}, fields: ['role'] }))).toBe('changed: role · role: admin · email: erased')
  })
  it('writes a table that no spreadsheet takes for formulas', () => {
    const [, row] = csvOf([event({ request_id: '=1+1' })]).split('\r\n')
    expect(row).toBe(
      `2026-02-14T09:30:00.123456Z,invitation.created,user,u1,203.0.113.0/24,'=1+1,invitation,i1,,"role: admin · email: =maria@example.com, ""M""",3,`,
    )
  })
})
