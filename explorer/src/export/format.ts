import { cellOf, row, textOf } from '../csv'
import { idsOf, namedIds, type NamesById } from './names'
import { elements, members } from './raw-json'

export type Format = 'csv' | 'ndjson'

// What follows writes the same files as cmd/internal/search/csv.go.

/** ndjson is a record as it came, in one line. */
export const ndjson = (record: string) => `${record.replace(/[\n\r]/g, '')}\n`

/** People has the labels for a file for people. */
export interface People {
  /** The names of columns. */
  heads: Record<string, string>
  /** The labels of column values. */
  values: Record<string, Record<string, string>>
  /** Columns of days. */
  days: string[]
}

/** The options of a CSV file. */
export interface CSVOptions {
  /** The file begins with a byte order mark, by which Excel recognizes UTF-8. */
  excel?: boolean
  /** The labels of the file; absent: the names of the API. */
  people?: People
  /** Texts that look like formulas stay as they are. */
  formulas?: boolean
}

/** csvHead is the row with the names of the columns. */
export const csvHead = (columns: string[], { excel, people }: CSVOptions = {}) =>
  (excel ? '\ufeff' : '') + row(columns.map((name) => people?.heads[name] ?? name))

/** csv is a row with the columns of a record, some of which name other records. */
export function csv(
  record: string,
  columns: string[],
  { formulas, people }: CSVOptions = {},
  namesById: NamesById = new Map(),
): string {
  const values = members(record)
  for (const column of columns) {
    const named = idsOf(column)
    if (named) values.set(column, JSON.stringify(namedIds(values, named.ids).flatMap((id) => namesById.get(id) ?? [])))
  }
  return row(columns.map((name) => cell(display(name, values.get(name) ?? 'null', people), formulas)))
}

/** display is a value for people: the name of a closed value, the day of a time. */
function display(name: string, raw: string, people: People | undefined): string {
  const called = people?.values[name]
  const call = (value: string) => JSON.stringify(called?.[plain(value)] ?? plain(value).replaceAll('_', ' '))
  if (called && raw.startsWith('[')) return `[${elements(raw).map(call).join(',')}]`
  if (called && raw.startsWith('"')) return call(raw)
  return people?.days.includes(name) && raw.startsWith('"') ? JSON.stringify(plain(raw).slice(0, 10)) : raw
}

function cell(raw: string, formulas?: boolean) {
  if (/^[-\d]/.test(raw)) return raw
  const value = raw.startsWith('[') ? elements(raw).map(plain) : plain(raw)
  return formulas ? textOf(value) : cellOf(value)
}

/** plain is the characters of a text, nothing for null, and JSON for other values. */
function plain(raw: string): string {
  if (raw === 'null') return ''
  if (raw.startsWith('"')) return JSON.parse(raw) as string
  if (raw.startsWith('[')) return elements(raw).map(plain).join('')
  return raw
}
