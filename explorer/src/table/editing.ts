import { noAnnotations, type Annotations, type Upsert } from '../api/book'
import type { AnyRecord } from '../datasets'

/** What the workspace says of a record, and a table can change. */
export const editable = ['workspace_status', 'icp_tier', 'tags', 'notes'] as const
export type Editable = (typeof editable)[number]

const isEditable = (key: string): key is Editable => (editable as readonly string[]).includes(key)

/** canEdit is whether a table can change a value of a row: it has it, and no comma is part of a tag. */
export function canEdit(record: AnyRecord, key: string): key is Editable {
  const value: unknown = (record as unknown as Record<string, unknown>)[key]
  return (
    isEditable(key) && value !== undefined && !(Array.isArray(value) && value.some((tag) => String(tag).includes(',')))
  )
}

/** seenIn is what a row of the book or of a View says, null if its record is not in the book. */
export function seenIn(record: AnyRecord): Annotations | null {
  const row = record as AnyRecord & Partial<Annotations>
  if (record.updated_at === null) return null
  return {
    ...noAnnotations,
    ...Object.fromEntries(editable.map((key) => [key, row[key] ?? noAnnotations[key] ?? null])),
  }
}

/** plain is a text as a field of a form has it, with the line ends of one. */
export const plain = (text: string | null | undefined) => (text ?? '').replaceAll('\r\n', '\n').replaceAll('\r', '\n')

/** textIn is a value as one edits it. */
export function textIn(values: Annotations, key: Editable): string {
  const value = values[key]
  return Array.isArray(value) ? value.join(', ') : plain(value)
}

/** changeIn is what to save for what was typed, undefined if that is what was there. */
export function changeIn(key: Editable, typed: string, seen: Annotations | null): Upsert | undefined {
  const text = typed.trim()
  if (text === textIn(seen ?? noAnnotations, key).trim()) return undefined
  if (key === 'tags') return { tags: [...new Set(text.split(',').map((t) => t.trim()))].filter(Boolean) }
  return { [key]: text || null }
}
