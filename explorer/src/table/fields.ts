import type { Book } from '../api/book'
import type { Schemas } from '../api/client'
import { labelOf, type Dataset, type Records } from '../datasets'
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
  /** The ids of other records: shown as their number. */
  | 'ids'
  | 'id'

/** TableName names what a table has rows of. Those of the book and of Views have members of their own. */
export type TableName = Dataset | `${'book' | 'view'} ${Book}`

export function tableOf({ dataset, source }: { dataset: Dataset; source?: Source | undefined }): TableName {
  const book = source && bookOf(dataset)
  return book ? `${source.kind} ${book}` : dataset
}

/** Field is what can be a column. */
export interface Field {
  key: string
  label: string
  kind: Kind
  /** Minimum width in pixels and share of the rest. */
  width: [number, number]
  /** Whether the service sorts by the key. */
  sorts: boolean
}

// The types of the API make these lists complete: a member that a record gains, or another
// sort, fails the build until it is here.

const kinds: { [D in Dataset]: Record<keyof Records[D], Kind> } = {
  projects: {
    name: 'name',
    stage: 'badge',
    primary_use: 'words',
    cost: 'number',
    residential_units: 'number',
    permitted_at: 'date',
    last_signal_at: 'date',
    disposition: 'words',
    gc_status: 'words',
    sqft: 'number',
    stories: 'number',
    filed_at: 'date',
    completed_at: 'date',
    detected_at: 'date',
    signals_count: 'number',
    account_ids: 'ids',
    contact_ids: 'ids',
    address: 'text',
    city: 'text',
    state: 'text',
    country: 'text',
    latitude: 'coordinate',
    longitude: 'coordinate',
    description: 'text',
    source: 'text',
    source_id: 'text',
    source_url: 'text',
    created_at: 'date',
    updated_at: 'date',
    id: 'id',
  },
  accounts: {
    name: 'name',
    account_types: 'list',
    city: 'text',
    projects_count: 'number',
    contacts_count: 'number',
    signals_count: 'number',
    last_activity_at: 'date',
    state: 'text',
    country: 'text',
    domains: 'list',
    website: 'text',
    phone: 'text',
    description: 'text',
    created_at: 'date',
    updated_at: 'date',
    id: 'id',
  },
  contacts: {
    name: 'name',
    title: 'text',
    role: 'words',
    account_name: 'text',
    status: 'badge',
    projects_count: 'number',
    email: 'text',
    phone: 'text',
    city: 'text',
    state: 'text',
    created_at: 'date',
    updated_at: 'date',
    account_id: 'id',
    id: 'id',
  },
  signals: {
    title: 'name',
    signal_type: 'words',
    stage: 'badge',
    city: 'text',
    occurred_at: 'date',
    detected_at: 'date',
    summary: 'text',
    project_name: 'text',
    account_ids: 'ids',
    state: 'text',
    source: 'text',
    source_id: 'text',
    source_url: 'text',
    created_at: 'date',
    updated_at: 'date',
    project_id: 'id',
    id: 'id',
  },
}

interface BookRows {
  projects: Schemas['WorkspaceProjectRow']
  accounts: Schemas['WorkspaceAccountRow']
  contacts: Schemas['WorkspaceContactRow']
}
interface ViewRows {
  projects: Schemas['ViewProjectRow']
  accounts: Schemas['ViewAccountRow']
  contacts: Schemas['ViewContactRow']
}

const bookKinds: { [B in Book]: Record<keyof BookRows[B], Kind> } = {
  projects: {
    name: 'name',
    workspace_status: 'text',
    tags: 'tags',
    stage: 'badge',
    primary_use: 'words',
    residential_units: 'number',
    last_signal_at: 'date',
    updated_at: 'date',
    notes: 'text',
    city: 'text',
    state: 'text',
    id: 'id',
  },
  accounts: {
    name: 'name',
    workspace_status: 'text',
    tags: 'tags',
    icp_tier: 'badge',
    atlas_score: 'number',
    account_types: 'list',
    updated_at: 'date',
    notes: 'text',
    atlas_trend: 'words',
    domains: 'list',
    website: 'text',
    id: 'id',
  },
  contacts: {
    name: 'name',
    workspace_status: 'text',
    tags: 'tags',
    title: 'text',
    email: 'text',
    updated_at: 'date',
    notes: 'text',
    account_id: 'id',
    id: 'id',
  },
}

/** What rows of the book say and those of Views do not. */
const notInViews: { [B in Book]: Record<Exclude<keyof BookRows[B], keyof ViewRows[B]>, true> } = {
  projects: { notes: true },
  accounts: { notes: true, atlas_trend: true, domains: true, website: true },
  contacts: { notes: true },
}

/** How many of the fields, from the first, are columns unless others are chosen. */
const shown: Record<TableName, number> = {
  projects: 7,
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

type Sorts<S> = S extends { field: infer K extends string } ? Record<Exclude<K, 'relevance'>, true> : never
const sorts: {
  projects: Sorts<Schemas['ProjectSort']>
  accounts: Sorts<Schemas['AccountSort']>
  contacts: Sorts<Schemas['ContactSort']>
  signals: Sorts<Schemas['SignalSort']>
  'book projects': Sorts<Schemas['WorkspaceProjectSort']>
  'book accounts': Sorts<Schemas['WorkspaceAccountSort']>
  'book contacts': Sorts<Schemas['WorkspaceContactSort']>
  'view projects': Sorts<Schemas['ViewProjectSort']>
  'view accounts': Sorts<Schemas['ViewAccountSort']>
  'view contacts': Sorts<Schemas['ViewContactSort']>
} = {
  projects: {
    name: true,
    residential_units: true,
    sqft: true,
    stories: true,
    cost: true,
    filed_at: true,
    permitted_at: true,
    detected_at: true,
    last_signal_at: true,
    signals_count: true,
    created_at: true,
    updated_at: true,
  },
  accounts: { name: true, projects_count: true, last_activity_at: true, created_at: true, updated_at: true },
  contacts: { name: true, projects_count: true, created_at: true, updated_at: true },
  signals: { occurred_at: true, detected_at: true, created_at: true },
  'book projects': { name: true, last_signal_at: true, signals_count: true, created_at: true, updated_at: true },
  'book accounts': { name: true, projects_count: true, created_at: true, updated_at: true, atlas_score: true },
  'book contacts': { name: true, projects_count: true, created_at: true, updated_at: true },
  'view projects': { name: true, last_signal_at: true, signals_count: true, created_at: true },
  'view accounts': { name: true, projects_count: true, created_at: true },
  'view contacts': { name: true, projects_count: true, created_at: true },
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
  ids: [80, 0],
  id: [280, 0],
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

const bookLabels: Record<string, string> = { updated_at: 'Changed by us' }

const fieldFor = (dataset: Dataset, key: string, kind: Kind, sorts: object): Field => ({
  key,
  label: ownLabels[`${dataset}.${key}`] ?? labelOf(key),
  kind,
  width: ownWidths[`${dataset}.${key}`] ?? widths[kind],
  sorts: key in sorts,
})

const fieldsFor = (dataset: Dataset): Field[] =>
  Object.entries<Kind>(kinds[dataset]).map(([key, kind]) => fieldFor(dataset, key, kind, sorts[dataset]))

function bookFields(place: 'book' | 'view', book: Book): Field[] {
  return Object.entries<Kind>(bookKinds[book])
    .filter(([key]) => place === 'book' || !(key in notInViews[book]))
    .map(([key, kind]) => {
      const field = fieldFor(book, key, kind, sorts[`${place} ${book}`])
      return { ...field, label: bookLabels[key] ?? field.label, width: bookWidths[key] ?? field.width }
    })
}

const all: Record<TableName, Field[]> = {
  projects: fieldsFor('projects'),
  accounts: fieldsFor('accounts'),
  contacts: fieldsFor('contacts'),
  signals: fieldsFor('signals'),
  'book projects': bookFields('book', 'projects'),
  'book accounts': bookFields('book', 'accounts'),
  'book contacts': bookFields('book', 'contacts'),
  'view projects': bookFields('view', 'projects'),
  'view accounts': bookFields('view', 'accounts'),
  'view contacts': bookFields('view', 'contacts'),
}

/** fieldsOf returns everything that a row says; the first field names the record. */
export const fieldsOf = (table: TableName): Field[] => all[table]

export const fieldOf = (table: TableName, key: string): Field | undefined => all[table].find((f) => f.key === key)

/** defaultKeys are the columns that nobody has chosen. */
export const defaultKeys = (table: TableName): string[] => all[table].slice(0, shown[table]).map((f) => f.key)
