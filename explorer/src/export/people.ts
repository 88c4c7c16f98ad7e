import { capital, labelOf, nouns } from '../datasets'
import { rows, type TableName } from '../api/rows'
import type { Descriptor } from '../api/queries'
import { fieldOf, fieldsOf } from '../table/fields'
import type { People } from './format'
import { joinedColumns, joinedOf } from './join'

/** headOf is the label of a column of a file; a joined record's includes the record. */
export function headOf(table: TableName, column: string): string {
  const other = joinedOf(column)
  if (!other) return fieldOf(table, column)?.label ?? labelOf(column)
  const one = capital(nouns[`${other.part}s`].one)
  const label = fieldOf(other.table, other.key)?.label ?? labelOf(other.key)
  return label === one ? label : `${one}: ${label}`
}

/** withJoined are the labels of a file of firms with their projects and people. */
export function withJoined(people: People, descriptors: Descriptor[]): People {
  const of = { project: peopleOf('projects', descriptors), contact: peopleOf('contacts', descriptors) }
  const all: People = { heads: { ...people.heads }, values: { ...people.values }, days: [...people.days] }
  for (const column of joinedColumns) {
    const other = joinedOf(column)
    if (!other) continue
    all.heads[column] = headOf('accounts', column)
    const values = of[other.part].values[other.key]
    if (values) all.values[column] = values
    if (of[other.part].days.includes(other.key)) all.days.push(column)
  }
  return all
}

/** peopleOf are the labels of a file of a table's rows: those of the table. */
export function peopleOf(table: TableName, descriptors: Descriptor[]): People {
  const dataset = table.split(' ').at(-1)
  const values: People['values'] = {}
  for (const [key, type] of Object.entries(rows[table])) {
    if (type !== 'enum' && key !== 'account_types') continue
    const named = descriptors.find(
      (d) => d.dataset.endsWith(dataset ?? '') && [key, key.replace(/s$/, '')].includes(d.key),
    )
    values[key] = Object.fromEntries((named?.values ?? []).map((v) => [v.value, v.label]))
  }
  const fields = fieldsOf(table)
  return {
    heads: {
      ...Object.fromEntries(fields.map((f) => [f.key, f.label])),
      ...Object.fromEntries(['account_names', 'contact_names'].map((key) => [key, labelOf(key)])),
    },
    values,
    days: fields.flatMap((f) => (f.kind === 'date' ? [f.key] : [])),
  }
}

/** inOrder are columns in the order of the table: first the visible ones, then the others. */
export function inOrder(table: TableName, visible: string[], columns: string[]): string[] {
  const order = [...visible, ...fieldsOf(table).map((f) => f.key), ...joinedColumns]
  const included = new Set(columns)
  return [...new Set(order)].filter((key) => included.has(key))
}
