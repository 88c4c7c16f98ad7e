import { cellOf, row, textOf } from '../csv'
import { elements, members } from './raw-json'

export type Format = 'csv' | 'ndjson'

// What follows writes the same files as cmd/internal/search/csv.go.

/** ndjson is a record as it came, in one line. */
export const ndjson = (record: string) => `${record.replace(/[\n\r]/g, '')}\n`

/** What a person may choose of a CSV file. */
export interface CSVOptions {
  /** The file begins with a byte order mark, by which Excel knows that it is UTF-8. */
  excel?: boolean
  /** Texts that look like formulas stay as they are. */
  formulas?: boolean
}

/** csvHead is the row with the names of the columns. */
export const csvHead = (columns: string[], { excel }: CSVOptions = {}) => (excel ? '\ufeff' : '') + row(columns)

/** csv is a row with the columns of a record. */
export function csv(record: string, columns: string[], { formulas }: CSVOptions = {}): string {
  const values = members(record)
  return row(columns.map((name) => cell(values.get(name) ?? 'null', formulas)))
}

function cell(raw: string, formulas?: boolean) {
  if (/^[-\d]/.test(raw)) return raw
  const value = raw.startsWith('[') ? elements(raw).map(plain) : plain(raw)
  return formulas ? textOf(value) : cellOf(value)
}

/** plain is the characters of a text, nothing for null, and the JSON of all else. */
function plain(raw: string): string {
  if (raw === 'null') return ''
  if (raw.startsWith('"')) return JSON.parse(raw) as string
  if (raw.startsWith('[')) return elements(raw).map(plain).join('')
  return raw
}
