import type { Book } from '../api/book'
import { rows, sorts, type TableName, type Type } from '../api/rows'
import { labelOf, type Dataset } from '../datasets'
import { bookOf, type Source } from '../source'

/** Kind is how a value is shown. */
export type Kind =
  | 'name'
  | 'text'
  | 'badge'
  | 'words'
  | 'number'
  | 'coordinate'
  | 'date'
  /** Texts. */
  | 'list'
  /** Texts as somebody has written them. */
  | 'tags'
  /** The ids of other records: shown by name once those are loaded, and before by their number. */
  | 'ids'
  /** The person to call at the firm of the row, once loaded. */
  | 'person'
  | 'id'
  /** The id of a member, shown by name. */
  | 'member'

/** What a table has rows of. Those of the book and of Views have members of their own. */
export type { TableName }

export function tableOf({ dataset, source }: { dataset: Dataset; source?: Source | undefined }): TableName {
  const book = source && bookOf(dataset)
  return book ? `${source.kind} ${book}` : dataset
}

/** columnsOf are the members of a row, in its order, the same as that of the columns of `atlas export`. */
export const columnsOf = (table: TableName): string[] => Object.keys(rows[table])

/** Field is a possible column. */
export interface Field {
  key: string
  label: string
  kind: Kind
  /** Minimum width in pixels and share of the rest. */
  width: [number, number]
  /** Whether the service sorts by the key. */
  sorts: boolean
}

/** The fields that come first. The others follow in the order of the row, and `last` at the end. */
const first: Record<Dataset | `book ${Book}`, string[]> = {
  projects: [
    'name',
    'stage',
    'primary_use',
    'cost',
    'account_ids',
    'residential_units',
    'permitted_at',
    'last_signal_at',
    'disposition',
    'gc_status',
    'sqft',
    'stories',
    'filed_at',
    'completed_at',
    'detected_at',
    'signals_count',
    'contact_ids',
    'address',
    'city',
    'state',
    'country',
    'latitude',
    'longitude',
  ],
  accounts: [
    'name',
    'account_types',
    'city',
    'projects_count',
    'contacts_count',
    'signals_count',
    'last_activity_at',
    'state',
    'country',
  ],
  contacts: ['name', 'title', 'role', 'account_name', 'status', 'projects_count'],
  signals: ['title', 'signal_type', 'stage', 'city', 'occurred_at', 'detected_at'],
  'book projects': [
    'name',
    'workspace_status',
    'tags',
    'stage',
    'primary_use',
    'residential_units',
    'last_signal_at',
    'updated_at',
    'notes',
  ],
  'book accounts': [
    'name',
    'workspace_status',
    'tags',
    'icp_tier',
    'atlas_score',
    'account_types',
    'updated_at',
    'notes',
    'atlas_trend',
  ],
  'book contacts': ['name', 'workspace_status', 'tags', 'title', 'email', 'updated_at', 'notes'],
}
const last = ['created_at', 'updated_at', 'project_id', 'account_id', 'id']

/** The column of the person to call at a firm. It is not in rows, but read separately. */
export const personToCall = 'person_to_call'

/** How a value of a type is shown, unless its key has a rule. */
const kindOfType: Record<Type, Kind> = {
  id: 'id',
  ids: 'ids',
  date: 'date',
  number: 'number',
  enum: 'words',
  list: 'list',
  text: 'text',
}
const kindOfKey: Record<string, Kind> = {
  stage: 'badge',
  status: 'badge',
  icp_tier: 'badge',
  tags: 'tags',
  updated_by: 'member',
  latitude: 'coordinate',
  longitude: 'coordinate',
}

/** How many fields, from the first, are columns by default. */
const shown: Record<TableName, number> = {
  projects: 8,
  accounts: 7,
  contacts: 6,
  signals: 6,
  'book projects': 8,
  'book accounts': 7,
  'book contacts': 6,
  'view projects': 8,
  'view accounts': 7,
  'view contacts': 6,
}

const widths: Record<Kind, [number, number]> = {
  name: [240, 3],
  text: [180, 0],
  badge: [156, 0],
  words: [130, 0],
  number: [96, 0],
  coordinate: [104, 0],
  date: [118, 0],
  list: [220, 2],
  tags: [140, 1],
  ids: [132, 2],
  person: [160, 1],
  id: [280, 0],
  member: [140, 0],
}
const ownWidths: Record<string, [number, number]> = {
  'projects.primary_use': [116, 0],
  'projects.cost': [112, 0],
  'projects.residential_units': [80, 0],
  'projects.sqft': [148, 0],
  'projects.stories': [80, 0],
  'projects.gc_status': [156, 0],
  'accounts.last_activity_at': [124, 0],
  'contacts.name': [180, 2],
  'contacts.title': [160, 2],
  'contacts.account_name': [180, 2],
  'contacts.status': [104, 0],
  'signals.title': [280, 3],
  'signals.signal_type': [160, 0],
}
/** Of the book and of Views. */
const bookWidths: Record<string, [number, number]> = {
  workspace_status: [132, 1],
  icp_tier: [108, 0],
  updated_at: [124, 0],
}
for (const dataset of ['projects', 'accounts', 'contacts', 'signals']) ownWidths[`${dataset}.city`] = [110, 0]

const ownLabels: Record<string, string> = {
  'projects.name': 'Project',
  'accounts.name': 'Firm',
  'contacts.name': 'Person',
  'contacts.account_id': 'ID of the firm',
  'signals.title': 'Signal',
  'signals.signal_type': 'Kind',
  'signals.project_id': 'ID of the project',
}

const bookLabels: Record<string, string> = { updated_at: 'Changed by us', updated_by: 'Who changed it' }

function fieldFor(table: TableName, dataset: Dataset, key: string, kind: Kind): Field {
  const own = table === dataset
  return {
    key,
    label: (own ? undefined : bookLabels[key]) ?? ownLabels[`${dataset}.${key}`] ?? labelOf(key),
    kind,
    width: (own ? undefined : bookWidths[key]) ?? ownWidths[`${dataset}.${key}`] ?? widths[kind],
    sorts: sorts[table].includes(key),
  }
}

function fieldsFor(table: TableName): Field[] {
  const dataset = table.split(' ').at(-1) as Dataset
  const leading = first[table.replace('view', 'book') as keyof typeof first]
  const row = rows[table]
  const keys = Object.keys(row)
  const order = [
    ...leading.filter((key) => key in row),
    ...keys.filter((key) => !leading.includes(key) && !last.includes(key)),
    ...last.filter((key) => key in row && !leading.includes(key)),
  ]
  const fields = order.map((key) =>
    fieldFor(table, dataset, key, key === leading[0] ? 'name' : (kindOfKey[key] ?? kindOfType[row[key] ?? 'text'])),
  )
  return dataset === 'accounts' ? [...fields, fieldFor(table, dataset, personToCall, 'person')] : fields
}

const all = Object.fromEntries(Object.keys(rows).map((table) => [table, fieldsFor(table as TableName)])) as Record<
  TableName,
  Field[]
>

/** fieldsOf returns all possible columns; the first field names the record. */
export const fieldsOf = (table: TableName): Field[] => all[table]

export const fieldOf = (table: TableName, key: string): Field | undefined => all[table].find((f) => f.key === key)

/** defaultKeys are the default columns. */
export const defaultKeys = (table: TableName): string[] => all[table].slice(0, shown[table]).map((f) => f.key)
