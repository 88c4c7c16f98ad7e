import type { ReactNode } from 'react'
import { counted, type AnyRecord, type Records } from '../datasets'
import { formatDay, formatNumber } from '../format'
import { defaults, type Chosen } from '../table/choice'
import type { Names } from '../api/related-names'
import { fieldOf, type Field, type Kind, type TableName } from '../table/fields'
import { namedBy } from './names'

/** Column is a field of the table. */
export interface Column extends Field {
  numeric: boolean
  cell: (record: AnyRecord) => ReactNode
}

const none = <span className="none">–</span>
const pretty = (value: string) => value.replaceAll('_', ' ')
const words = (value: string) => <span className="words">{value}</span>
const text = (value: string) => value
const number = (value: number) => formatNumber(value)
/** LabelOf names a value of a field as its filter does. */
type LabelOf = (value: string) => string
const cells: { [K in Exclude<Kind, 'ids' | 'person'>]: (value: never, called: LabelOf) => ReactNode } = {
  name: text,
  text,
  id: text,
  /** A closed value with a colour for its progress or quality. */
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
  member: (id: string, called) => <bdi>{called(id)}</bdi>,
}

const numeric = new Set<Kind>(['number', 'coordinate'])

/** valueOf returns the value of a field of a record; undefined if it is not known. */
export function valueOf(record: AnyRecord, key: string): unknown {
  const value = (record as unknown as Record<string, unknown>)[key]
  return value === null || (Array.isArray(value) && value.length === 0) ? undefined : value
}

/** The maximum number of related records that a cell or a file names. */
export const maxNamed = 3

/** namesOf are the names of related records: the first ones, and the number of the others. */
export function namesOf(ids: string[], nameOf: (id: string) => string | undefined): string {
  const more = ids.length - maxNamed
  const names = ids.slice(0, maxNamed).map((id) => nameOf(id) ?? '…')
  return names.join(', ') + (more > 0 ? ` and ${formatNumber(more)} more` : '')
}

/** deletedText is the text for a deleted record. */
const deletedText = 'one that is gone'

function related(ids: string[], key: string, names: Names | undefined): ReactNode {
  const known = (id: string) => {
    const found = names?.records.get(id)
    return found === null ? deletedText : found && nameOf(found)
  }
  const dataset = namedBy(key)
  if (ids.slice(0, maxNamed).every((id) => known(id) === undefined)) {
    return dataset ? counted(ids.length, dataset) : number(ids.length)
  }
  const text = namesOf(ids, known)
  return <span title={text}>{text}</span>
}

/** aboutPerson is how to contact a person. */
function aboutPerson(record: AnyRecord): string {
  const { name, title, role, phone, email } = record as Records['contacts']
  return [name, title ?? (role && pretty(role)), phone, email].filter(Boolean).join('\n')
}

function personAt(firm: string, names: Names | undefined): ReactNode {
  const person = names?.toCall.get(firm)
  if (person === undefined) return none
  return person ? <span title={aboutPerson(person)}>{nameOf(person)}</span> : 'nobody is known'
}

const columnOf = (field: Field, width: number | undefined, called: LabelOf, names: Names | undefined): Column => ({
  ...field,
  width: width === undefined ? field.width : [width, 0],
  numeric: numeric.has(field.kind),
  cell: (record) => {
    if (field.kind === 'person') return personAt(record.id, names)
    const value = valueOf(record, field.key)
    if (value === undefined) return none
    if (field.kind === 'ids') return related(value as string[], field.key, names)
    return cells[field.kind](value as never, called)
  },
})

/** columnsOf returns the columns of a table; the first one names the record. */
export function columnsOf(
  table: TableName,
  chosen: Chosen[] = defaults(table),
  called: (key: string, value: string) => string | undefined = () => undefined,
  names?: Names,
): Column[] {
  return chosen.flatMap(({ key, width }) => {
    const field = fieldOf(table, key)
    if (!field) return []
    return [columnOf(field, width, (value) => called(key, value) ?? pretty(value), names)]
  })
}

/** nameOf is the name of a record: signals have only a title. */
export const nameOf = (record: AnyRecord): string => ('name' in record ? record.name : record.title)
