import { moved as inOrder } from '../order'
import { defaultKeys, fieldOf, fieldsOf, type TableName } from './fields'

/** Chosen is a chosen column; without a width it has the default width of its field. */
export interface Chosen {
  key: string
  /** In pixels. */
  width?: number
}

/** Limits of widths in pixels. */
const minWidth = 64
const maxWidth = 800

export const clampWidth = (width: number) => Math.min(maxWidth, Math.max(minWidth, Math.round(width)))

export const defaults = (table: TableName): Chosen[] => defaultKeys(table).map((key) => ({ key }))

/** formatColumns is the inverse of parseColumns: name,cost:140,stage */
export const formatColumns = (columns: Chosen[]): string =>
  columns.map(({ key, width }) => (width === undefined ? key : `${key}:${width}`)).join(',')

/** parseColumns reads the columns of an address. Unknown ones are ignored. */
export function parseColumns(table: TableName, text: string): Chosen[] | undefined {
  return normal(
    table,
    text.split(',').map((column) => {
      const [key = '', width = ''] = column.split(':')
      return /^\d{1,5}$/.test(width) ? { key, width: Number(width) } : { key }
    }),
  )
}

/**
 * normal returns valid columns: each known field once, the name first, because it identifies the
 * record of a row. Undefined: the default ones.
 */
export function normal(table: TableName, columns: Chosen[]): Chosen[] | undefined {
  const byKey = new Map<string, Chosen>()
  for (const { key, width } of columns) {
    if (!byKey.has(key) && fieldOf(table, key))
      byKey.set(key, width === undefined ? { key } : { key, width: clampWidth(width) })
  }
  if (byKey.size === 0) return undefined
  const name = fieldsOf(table)[0]?.key ?? ''
  const first = byKey.get(name) ?? { key: name }
  byKey.delete(name)
  const known = [first, ...byKey.values()]
  return formatColumns(known) === formatColumns(defaults(table)) ? undefined : known
}

/** moved returns columns with one of them moved to another position; the name stays first. */
export function moved(columns: Chosen[], key: string, to: number): Chosen[] {
  const from = columns.findIndex((c) => c.key === key)
  return from > 0 ? inOrder(columns, from, Math.max(1, to)) : columns
}

// The choice is also stored in this browser: it is only names of columns, not data.

const storageKey = (table: TableName) => `columns.${table}`

export function storeColumns(table: TableName, columns: Chosen[] | undefined): void {
  if (columns) localStorage.setItem(storageKey(table), formatColumns(columns))
  else localStorage.removeItem(storageKey(table))
}

export function storedColumns(table: TableName): Chosen[] | undefined {
  const text = localStorage.getItem(storageKey(table))
  return text === null ? undefined : parseColumns(table, text)
}
