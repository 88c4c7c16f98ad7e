import { noAnnotations, type Annotations, type Upsert } from '../api/book'
import type { AnyRecord } from '../datasets'

/** The annotations that a table can change. */
export const editable = ['workspace_status', 'icp_tier', 'tags', 'notes'] as const
export type Editable = (typeof editable)[number]

const isEditable = (key: string): key is Editable => (editable as readonly string[]).includes(key)

/** canEdit reports whether a table can change a value of a row: the row has it, and no tag contains a comma. */
export function canEdit(record: AnyRecord, key: string): key is Editable {
  const value: unknown = (record as unknown as Record<string, unknown>)[key]
  return (
    isEditable(key) && value !== undefined && !(Array.isArray(value) && value.some((tag) => String(tag).includes(',')))
  )
}

/** seenIn are the annotations in a row of the book or of a View, null if its record is not in the book. */
export function seenIn(record: AnyRecord): Annotations | null {
  const row = record as AnyRecord & Partial<Annotations>
  if (record.updated_at === null) return null
  return {
    ...noAnnotations,
    ...Object.fromEntries(editable.map((key) => [key, row[key] ?? noAnnotations[key] ?? null])),
  }
}

/** plain is a text with the line breaks of a form field. */
export const plain = (text: string | null | undefined) => (text ?? '').replaceAll('\r\n', '\n').replaceAll('\r', '\n')

/** textIn is the editable form of a value. */
export function textIn(values: Annotations, key: Editable): string {
  const value = values[key]
  return Array.isArray(value) ? value.join(', ') : plain(value)
}

/** changeIn is the change for a typed text, undefined if it is the previous value. */
export function changeIn(key: Editable, typed: string, seen: Annotations | null): Upsert | undefined {
  const text = typed.trim()
  if (text === textIn(seen ?? noAnnotations, key).trim()) return undefined
  if (key === 'tags') return { tags: [...new Set(text.split(',').map((t) => t.trim()))].filter(Boolean) }
  return { [key]: text || null }
}
