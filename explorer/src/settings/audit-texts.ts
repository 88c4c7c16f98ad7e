import type { AuditEvent } from '../api/audit'

/** kinds are the kinds of objects to filter by, with their labels. */
export const kinds: [kind: string, text: string][] = [
  ['', 'Everything'],
  ['session', 'Sign-ins'],
  ['member', 'Members and roles'],
  ['invitation', 'Invitations'],
  ['api_key', 'API keys'],
  ['webhook', 'Webhooks'],
  ['skill', 'Skills'],
  ['view', 'Views'],
  ['board', 'Boards'],
  ['workspace', 'Settings'],
  ['reads', 'Many records read'],
]

/** textOf is an action in words: api_key.created is "API key created". */
export function textOf(action: string): string {
  const [kind = '', verb = ''] = action.split('.')
  const text = `${kind.replaceAll('_', ' ')} ${verb.replaceAll('_', ' ')}`
  return (text[0]?.toUpperCase() ?? '') + text.slice(1).replace(/^pi key/, 'PI key')
}

/** actorOf is the name of the author. */
export function actorOf(e: AuditEvent, people: Map<string, string>): string {
  const { kind, id } = e.principal
  switch (kind) {
    case 'operator':
      return `The operator: ${typeof e.details.command === 'string' ? e.details.command : 'a command'}`
    case 'service':
      return 'Atlas'
    case 'key':
      return `API key ${id ?? ''}`
    default:
      return people.get(id ?? '') ?? `A former member, ${id ?? ''}`
  }
}

/** detailsOf are the details of an event in words, with the values that digests stand for. */
export function detailsOf(e: AuditEvent): string {
  const shown = Object.entries(e.details)
    .filter(([name]) => name !== 'command' && name !== 'account')
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${valueOf(e, value)}`)
  const fields = e.fields.length > 0 ? [`changed: ${e.fields.join(', ')}`] : []
  return [...fields, ...shown].join(' · ')
}

function valueOf(e: AuditEvent, value: unknown): string {
  if (typeof value === 'string') return e.values[value] ?? (value.startsWith('sha256:') ? 'erased' : value)
  if (Array.isArray(value)) return value.length > 0 ? value.join(', ') : 'none'
  return JSON.stringify(value)
}

const columns = [
  'at',
  'action',
  'principal',
  'principal_id',
  'network',
  'request_id',
  'object',
  'object_id',
  'fields',
  'details',
  'number',
  'digest',
]

/** csvOf are events as a table. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvOf(events: AuditEvent[]): string {
  const cell = (value: string | number | null) => {
    const text = String(value ?? '')
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  const rows = events.map((e) => [
    e.at,
    e.action,
    e.principal.kind,
    e.principal.id,
    e.network,
    e.request_id,
    e.object.kind,
    e.object.id,
    e.fields.join(' '),
    detailsOf(e),
    e.number,
    e.digest,
  ])
  return [columns, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n'
}
