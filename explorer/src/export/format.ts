import { likeFormula } from '../formula'
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

/** row joins cells, quoted where necessary. A single empty cell would be an empty line, which readers skip. */
export function row(cells: string[]): string {
  const quoted = cells.map((c) =>
    /[",\r\n]|^\p{White_Space}|\p{White_Space}$/u.test(c) || (cells.length === 1 && c === '')
      ? `"${c.replaceAll('"', '""')}"`
      : c,
  )
  return `${quoted.join(',')}\n`
}

function cell(raw: string): string {
  if (/^[-\d]/.test(raw)) return raw
  const text = raw.startsWith('[')
    ? elements(raw)
        .map((e) => plain(e).replace(/[\\;]/g, '\\$&'))
        .join(';')
    : plain(raw)
  return likeFormula.test(text) ? `'${text}` : text
}

/** plain is the characters of a text, nothing for null, and the JSON of all else. */
function plain(raw: string): string {
  if (raw === 'null') return ''
  if (raw.startsWith('"')) return JSON.parse(raw) as string
  if (raw.startsWith('[')) return elements(raw).map(plain).join('')
  return raw
}
