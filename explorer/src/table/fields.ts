import type { Schemas } from '../api/client'
import { labelOf, type Dataset, type Records } from '../datasets'

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
  /** The ids of other records: shown as their number. */
  | 'ids'
  | 'id'

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
    source_url: 'text',
    created_at: 'date',
    updated_at: 'date',
    project_id: 'id',
    id: 'id',
  },
}

/** How many of the fields, from the first, are columns unless others are chosen. */
const shown: Record<Dataset, number> = { projects: 7, accounts: 7, contacts: 6, signals: 6 }

type SortKey<S extends 'ProjectSort' | 'AccountSort' | 'ContactSort' | 'SignalSort'> = Exclude<
  Schemas[S]['field'],
  'relevance'
>
const sorts: {
  projects: Record<SortKey<'ProjectSort'>, true>
  accounts: Record<SortKey<'AccountSort'>, true>
  contacts: Record<SortKey<'ContactSort'>, true>
  signals: Record<SortKey<'SignalSort'>, true>
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
}

const widths: Record<Kind, [number, number]> = {
  name: [240, 3],
  text: [180, 0],
  badge: [140, 0],
  words: [130, 0],
  number: [96, 0],
  coordinate: [104, 0],
  date: [118, 0],
  list: [220, 2],
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

function fieldsFor(dataset: Dataset): Field[] {
  return Object.entries<Kind>(kinds[dataset]).map(([key, kind]) => ({
    key,
    label: ownLabels[`${dataset}.${key}`] ?? labelOf(key),
    kind,
    width: ownWidths[`${dataset}.${key}`] ?? widths[kind],
    sorts: key in sorts[dataset],
  }))
}

const all: Record<Dataset, Field[]> = {
  projects: fieldsFor('projects'),
  accounts: fieldsFor('accounts'),
  contacts: fieldsFor('contacts'),
  signals: fieldsFor('signals'),
}

/** fieldsOf returns everything that a record says; the first field names it. */
export const fieldsOf = (dataset: Dataset): Field[] => all[dataset]

export const fieldOf = (dataset: Dataset, key: string): Field | undefined => all[dataset].find((f) => f.key === key)

/** defaultKeys are the columns that nobody has chosen. */
export const defaultKeys = (dataset: Dataset): string[] => all[dataset].slice(0, shown[dataset]).map((f) => f.key)
