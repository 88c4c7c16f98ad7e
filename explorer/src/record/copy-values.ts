import type { AnyRecord } from '../datasets'

/** CopyValue is a copyable value of a record. */
export interface CopyValue {
  /** What it is, as the beginning of a sentence. */
  name: string
  text: string
  /** The key that copies it. */
  key?: string
}

const keys: Record<string, string> = { p: 'phone', a: 'address' }

/** copyValueOf is the value that a button beside a field copies, undefined if there is none. */
export function copyValueOf(record: AnyRecord, field: string): CopyValue | undefined {
  const text = (record as unknown as Record<string, unknown>)[field]
  if (typeof text !== 'string' || text === '') return undefined
  switch (field) {
    case 'phone':
      return { name: 'The phone number', text, key: 'p' }
    case 'email':
      return { name: 'The e-mail address', text }
    case 'website':
      return { name: 'The website', text }
    case 'address': {
      const place = [record.city, record.state, 'country' in record ? record.country : null]
      return { name: 'The address', text: [text, ...place].filter(Boolean).join(', '), key: 'a' }
    }
  }
  return undefined
}

/** copyValueForKey is the value that a key copies of a record, or of the page. */
export function copyValueForKey(record: AnyRecord, key: string): CopyValue | undefined {
  if (key === 'l') return { name: 'The link', text: location.href }
  const field = Object.hasOwn(keys, key) ? keys[key] : undefined
  return field === undefined ? undefined : copyValueOf(record, field)
}

/** safeLink is an address that is safe as a link: https, without a name or password in it. Undefined for others. */
export function safeLink(text: string): string | undefined {
  if (!/^https:\/\//i.test(text) || !URL.canParse(text)) return undefined
  const { href, username, password } = new URL(text)
  return username || password ? undefined : href
}
