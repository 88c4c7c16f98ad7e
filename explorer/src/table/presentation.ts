import type { Schemas } from '../api/client'
import type { Sort } from '../api/queries'
import { defaults, normal, type Chosen } from './choice'
import { defaultKeys, fieldOf, fieldsOf, type TableName } from './fields'

export type Presentation = Schemas['Presentation']

/** Look is what a presentation stores of a table. */
export interface Look {
  /** Undefined: the default. */
  columns?: Chosen[]
  sort?: Sort
}

/**
 * toPresentation returns the look of a table as a View stores it. A View has no place for
 * order and widths, but ids of columns are any text: where they are not the default, each
 * column has a second entry, "position:key:width" or "position:key". Who does not know
 * these ignores them.
 */
export function toPresentation(table: TableName, { columns, sort }: Look): Presentation {
  const visibility: Record<string, boolean> = {}
  if (columns) {
    for (const key of defaultKeys(table)) visibility[key] = false
    for (const { key } of columns) visibility[key] = true
    columns.forEach(({ key, width }, i) => {
      visibility[width === undefined ? `${i}:${key}` : `${i}:${key}:${width}`] = true
    })
  }
  return {
    version: 1,
    sorting: sort ? [{ id: sort.field, desc: sort.order === 'desc' }] : [],
    column_visibility: visibility,
  }
}

/** fromPresentation is the inverse of toPresentation. It ignores what it does not know. */
export function fromPresentation(table: TableName, { sorting, column_visibility: visibility }: Presentation): Look {
  const placed: [number, Chosen][] = []
  for (const [id, visible] of Object.entries(visibility)) {
    const [, position, key, width] = /^(\d{1,3}):(\w+)(?::(\d{1,5}))?$/.exec(id) ?? []
    if (visible && key && visibility[key] !== false)
      placed.push([Number(position), width ? { key, width: Number(width) } : { key }])
  }
  placed.sort(([a], [b]) => a - b)
  // Columns that another program has shown or hidden.
  const hidden = (key: string) => visibility[key] === false
  const kept = placed.length > 0 ? placed.map(([, c]) => c) : defaults(table).filter(({ key }) => !hidden(key))
  const added = fieldsOf(table).filter(({ key }) => visibility[key] === true)
  const columns = normal(table, [...kept, ...added.map(({ key }) => ({ key }))])
  const first = sorting[0]
  const sorts = first && fieldOf(table, first.id)?.sorts
  return {
    ...(columns ? { columns } : {}),
    ...(sorts ? { sort: { field: first.id, order: first.desc ? 'desc' : 'asc' } } : {}),
  }
}
