import type { ReactNode } from 'react'
import { type AnyRecord } from '../datasets'
import { formatDay, formatNumber } from '../format'
import { defaults, type Chosen } from '../table/choice'
import { fieldOf, type Field, type Kind, type TableName } from '../table/fields'

/** Column is a field as it is in the table. */
export interface Column extends Field {
  numeric: boolean
  cell: (record: AnyRecord) => ReactNode
}

const none = <span className="none">–</span>
const pretty = (value: string) => value.replaceAll('_', ' ')
const words = (value: string) => <span className="words">{value}</span>
const text = (value: string) => value
const number = (value: number) => formatNumber(value)
/** Called names a value of a field as its filter does. */
type Called = (value: string) => string
const cells: { [K in Kind]: (value: never, called: Called) => ReactNode } = {
  name: text,
  text,
  id: text,
  /** A closed value with a colour that stands for how far or how good it is. */
  badge: (value: string, called) => (
    <span className="badge" data-value={value} title={called(value)}>
      {called(value)}
    </span>
  ),
  words: (value: string, called) => words(called(value)),
  number,
  coordinate: (value: number) => value.toFixed(5),
  date: (value: string) => formatDay(value),
  list: (values: string[], called) => words(values.map(called).join(', ')),
  tags: (values: string[]) => values.join(', '),
  ids: (values: string[]) => number(values.length),
  member: (id: string, called) => <bdi>{called(id)}</bdi>,
}

const numeric = new Set<Kind>(['number', 'coordinate', 'ids'])

/** valueOf returns what a record says in a field; undefined if that is not known. */
export function valueOf(record: AnyRecord, key: string): unknown {
  const value = (record as unknown as Record<string, unknown>)[key]
  return value === null || (Array.isArray(value) && value.length === 0) ? undefined : value
}

const columnOf = (field: Field, width: number | undefined, called: Called): Column => ({
  ...field,
  width: width === undefined ? field.width : [width, 0],
  numeric: numeric.has(field.kind),
  cell: (record) => {
    const value = valueOf(record, field.key)
    return value === undefined ? none : cells[field.kind](value as never, called)
  },
})

/** columnsOf returns the columns of a table; the first one names the record. */
export function columnsOf(
  table: TableName,
  chosen: Chosen[] = defaults(table),
  called: (key: string, value: string) => string | undefined = () => undefined,
): Column[] {
  return chosen.flatMap(({ key, width }) => {
    const field = fieldOf(table, key)
    if (!field) return []
    return [columnOf(field, width, (value) => called(key, value) ?? pretty(value))]
  })
}

/** nameOf is what a record is called: signals have a title only. */
export const nameOf = (record: AnyRecord): string => ('name' in record ? record.name : record.title)
