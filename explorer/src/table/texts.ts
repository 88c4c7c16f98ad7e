import { cellOf, row } from '../csv'
import { valueOf } from '../search/columns'
import type { AnyRecord } from '../datasets'

/** cellText is the copied text of a cell, for programs: 25000, 2024-05-01T00:00:00.000Z. */
export function cellText(record: AnyRecord, key: string): string {
  const value = valueOf(record, key) ?? ''
  return Array.isArray(value) ? value.join(', ') : String(value)
}

export const jsonOf = (value: unknown) => JSON.stringify(value, null, 2)

/** csvOf has the columns of the table in their order, in the form of `atlas export --format csv`. */
export function csvOf(records: AnyRecord[], keys: string[]): string {
  const columns = keys.includes('id') ? keys : ['id', ...keys]
  const lines = records.map((record) => columns.map((key) => cellOf(valueOf(record, key))))
  return [columns, ...lines].map(row).join('')
}
