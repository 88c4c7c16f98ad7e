import type { Schemas } from '../api/client'
import type { Sort } from '../api/queries'
import { defaults, formatColumns, normal, parseColumns, type Chosen } from './choice'
import { defaultKeys, fieldOf, fieldsOf, type TableName } from './fields'

export type Presentation = Schemas['Presentation']

/** Look is the part of a presentation about a table. */
export interface Look {
  /** Undefined: the default. */
  columns?: Chosen[]
  sort?: Sort
}

/** The prefix of the entry with the order and widths of all columns; the rest is as in an address. */
const orderPrefix = 'columns:'

/**
 * toPresentation returns the look of a table as a View stores it: columns shown and hidden in
 * contrast to the default. A View has no field for order and widths, but ids of columns are any
 * text: an additional entry has them, unless they are the default. Other programs ignore it.
 */
export function toPresentation(table: TableName, { columns, sort }: Look): Presentation {
  const visibility: Record<string, boolean> = {}
  if (columns) {
    const shownByDefault = new Set(defaultKeys(table))
    const shown = new Set(columns.map(({ key }) => key))
    for (const key of shownByDefault) if (!shown.has(key)) visibility[key] = false
    for (const { key } of fieldsOf(table)) if (shown.has(key) && !shownByDefault.has(key)) visibility[key] = true
    const text = formatColumns(columns)
    if (formatColumns(inDefaultOrder(table, visibility)) !== text) visibility[orderPrefix + text] = true
  }
  return {
    version: 1,
    sorting: sort ? [{ id: sort.field, desc: sort.order === 'desc' }] : [],
    column_visibility: visibility,
  }
}

type Visibility = Presentation['column_visibility']

/** inDefaultOrder are the columns in their default order, without the hidden ones, followed by the shown ones. */
const inDefaultOrder = (table: TableName, visibility: Visibility): Chosen[] => [
  ...defaults(table).filter(({ key }) => visibility[key] !== false),
  ...fieldsOf(table).flatMap(({ key }) => (visibility[key] === true ? [{ key }] : [])),
]

/** inStoredOrder are the columns with their order and widths, from the one entry or from the older form. */
function inStoredOrder(table: TableName, visibility: Visibility): Chosen[] {
  const placed: [number, Chosen][] = []
  for (const [id, visible] of Object.entries(visibility)) {
    if (!visible) continue
    if (id.startsWith(orderPrefix)) return parseColumns(table, id.slice(orderPrefix.length)) ?? defaults(table)
    // The older form had an entry for each column, "position:key:width" or "position:key".
    const [, position, key, width] = /^(\d{1,3}):(\w+)(?::(\d{1,5}))?$/.exec(id) ?? []
    if (key) placed.push([Number(position), width ? { key, width: Number(width) } : { key }])
  }
  return placed.sort(([a], [b]) => a - b).map(([, column]) => column)
}

/** fromPresentation is the inverse of toPresentation. It ignores unknown entries. */
export function fromPresentation(table: TableName, { sorting, column_visibility: visibility }: Presentation): Look {
  // Another program may have hidden and shown columns since.
  const placed = inStoredOrder(table, visibility).filter(({ key }) => visibility[key] !== false)
  const added = inDefaultOrder(table, visibility).filter(({ key }) => visibility[key] === true)
  const columns = normal(table, placed.length > 0 ? [...placed, ...added] : inDefaultOrder(table, visibility))
  const first = sorting[0]
  const sorts = first && fieldOf(table, first.id)?.sorts
  return {
    ...(columns ? { columns } : {}),
    ...(sorts ? { sort: { field: first.id, order: first.desc ? 'desc' : 'asc' } } : {}),
  }
}
