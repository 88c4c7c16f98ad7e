import { cellOf, row } from '../csv'
import { elements, members } from './raw-json'

export type Format = 'csv' | 'ndjson'

// What follows writes the same files as cmd/internal/search/csv.go.

/** ndjson is a record as it came, in one line. */
export const ndjson = (record: string) => `${record.replace(/[\n\r]/g, '')}\n`

/** csv is a row with the columns of a record. */
export function csv(record: string, columns: string[]): string {
  const values = members(record)
  return row(columns.map((name) => cell(values.get(name) ?? 'null')))
}

const cell = (raw: string) =>
  /^[-\d]/.test(raw) ? raw : cellOf(raw.startsWith('[') ? elements(raw).map(plain) : plain(raw))

/** plain is the characters of a text, nothing for null, and the JSON of all else. */
function plain(raw: string): string {
  if (raw === 'null') return ''
  if (raw.startsWith('"')) return JSON.parse(raw) as string
  if (raw.startsWith('[')) return elements(raw).map(plain).join('')
  return raw
}
