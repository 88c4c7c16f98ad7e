import { likeFormula } from '../formula'
import { valueOf } from '../search/columns'
import type { AnyRecord } from '../datasets'

/** textOf is a value as a program reads it: 25000, 2024-05-01T00:00:00.000Z, a;b. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return Array.isArray(value) ? value.join(';') : String(value)
}

/** cellText is what a cell is copied as. */
export const cellText = (record: AnyRecord, key: string): string => {
  const value = valueOf(record, key)
  return Array.isArray(value) ? value.join(', ') : textOf(value)
}

export const jsonOf = (value: unknown) => JSON.stringify(value, null, 2)

/** csvOf has the columns of the table in their order, in the form of `atlas export --format csv`. */
export function csvOf(records: AnyRecord[], keys: string[]): string {
  const columns = keys.includes('id') ? keys : ['id', ...keys]
  const lines = records.map((record) => columns.map((key) => field(valueOf(record, key))))
  return [columns, ...lines].map((line) => `${line.join(',')}\n`).join('')
}

function field(value: unknown): string {
  const text = Array.isArray(value) ? value.map((v) => String(v).replaceAll(/[\\;]/g, '\\$&')).join(';') : textOf(value)
  // A spreadsheet runs no text as a formula. Numbers stay as they are.
  const safe = typeof value !== 'number' && likeFormula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) || safe.trim() !== safe ? `"${safe.replaceAll('"', '""')}"` : safe
}
