import { labelOf } from '../datasets'
import { rows, type TableName } from '../api/rows'
import type { Descriptor } from '../api/queries'
import { fieldsOf } from '../table/fields'
import type { People } from './format'

/** peopleOf is how a file of a table's rows says things to people: as the table does. */
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

/** inOrder are columns in the order of the table: first those in sight, then the others. */
export function inOrder(table: TableName, inSight: string[], columns: string[]): string[] {
  const order = [...inSight, ...fieldsOf(table).map((f) => f.key)]
  const wanted = new Set(columns)
  return [...new Set(order)].filter((key) => wanted.has(key))
}
