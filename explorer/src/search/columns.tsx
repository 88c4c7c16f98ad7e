import type { ReactNode } from 'react'
import type { Book } from '../api/book'
import type { Schemas } from '../api/client'
import { labelOf, type AnyRecord, type Dataset, type Records } from '../datasets'
import { formatDay, formatNumber } from '../format'
import { bookOf, type Scope } from '../source'

export interface Column<R> {
  key: string
  label: string
  /** Minimum width in pixels and share of the rest. */
  width: [number, number]
  numeric?: boolean
  /** Whether the service sorts by the key. */
  sorts?: boolean
  cell: (record: R) => ReactNode
}

const none = <span className="none">–</span>
const text = (value: string | null | undefined) => value ?? none
const date = (value: string | null) => (value ? formatDay(value) : none)
const number = (value: number | null) => (value === null ? none : formatNumber(value))
const pretty = (value: string) => value.replaceAll('_', ' ')

/** Badge is a closed value with a colour that stands for how far or how good it is. */
function Badge({ value }: { value: string }) {
  return (
    <span className="badge" data-value={value}>
      {pretty(value)}
    </span>
  )
}
const badge = (value: string | null) => (value ? <Badge value={value} /> : none)
const words = (value: string | null) => (value ? <span className="words">{pretty(value)}</span> : none)

function column<R>(
  key: string,
  width: [number, number],
  cell: (r: R) => ReactNode,
  options: Partial<Column<R>> = {},
): Column<R> {
  return { key, label: labelOf(key), width, cell, ...options }
}

const sorts = { sorts: true }
const amount = { sorts: true, numeric: true }

/** columns of each table; the first one names the record. */
export const columns: { [D in Dataset]: Column<Records[D]>[] } = {
  projects: [
    column('name', [240, 3], (r) => r.name, { label: 'Project', sorts: true }),
    column('stage', [140, 0], (r) => badge(r.stage)),
    column('primary_use', [116, 0], (r) => words(r.primary_use)),
    column('cost', [112, 0], (r) => number(r.cost), amount),
    column('residential_units', [72, 0], (r) => number(r.residential_units), { numeric: true }),
    column('permitted_at', [118, 0], (r) => date(r.permitted_at), sorts),
    column('last_signal_at', [118, 0], (r) => date(r.last_signal_at), sorts),
  ],
  accounts: [
    column('name', [240, 3], (r) => r.name, { label: 'Firm', sorts: true }),
    column('account_types', [220, 2], (r) => words(r.account_types.join(', ') || null)),
    column('city', [110, 0], (r) => text(r.city)),
    column('projects_count', [88, 0], (r) => number(r.projects_count), amount),
    column('contacts_count', [80, 0], (r) => number(r.contacts_count), { numeric: true }),
    column('signals_count', [84, 0], (r) => number(r.signals_count), { numeric: true }),
    column('last_activity_at', [124, 0], (r) => date(r.last_activity_at), sorts),
  ],
  contacts: [
    column('name', [180, 2], (r) => r.name, { label: 'Person', sorts: true }),
    column('title', [160, 2], (r) => text(r.title)),
    column('role', [130, 0], (r) => words(r.role)),
    column('account_name', [180, 2], (r) => text(r.account_name)),
    column('status', [104, 0], (r) => badge(r.status)),
    column('projects_count', [88, 0], (r) => number(r.projects_count), amount),
  ],
  signals: [
    column('title', [280, 3], (r) => r.title, { label: 'Signal' }),
    column('signal_type', [160, 0], (r) => words(r.signal_type), { label: 'Kind' }),
    column('stage', [140, 0], (r) => badge(r.stage)),
    column('city', [110, 0], (r) => text(r.city)),
    column('occurred_at', [118, 0], (r) => date(r.occurred_at), sorts),
    column('detected_at', [118, 0], (r) => date(r.detected_at), sorts),
  ],
}

/** Rows of the book; those of Views have the same members but notes, null outside the book. */
interface BookRows {
  projects: Required<Schemas['WorkspaceProjectRow']>
  accounts: Required<Schemas['WorkspaceAccountRow']>
  contacts: Required<Schemas['WorkspaceContactRow']>
}
type BookRow = BookRows[Book]

const ours = [
  column<BookRow>('workspace_status', [132, 1], (r) => text(r.workspace_status)),
  column<BookRow>('tags', [140, 1], (r) => text(r.tags?.join(', ') || null)),
]
const changed = column<BookRow>('updated_at', [124, 0], (r) => date(r.updated_at), { label: 'Changed by us' })

/** bookColumns are those of the book and of Views. The first one names the record. */
const bookColumns: { [B in Book]: Column<BookRows[B]>[] } = {
  projects: [
    column('name', [240, 3], (r) => r.name, { label: 'Project', sorts: true }),
    ...ours,
    column('stage', [140, 0], (r) => badge(r.stage)),
    column('primary_use', [116, 0], (r) => words(r.primary_use)),
    column('residential_units', [72, 0], (r) => number(r.residential_units), { numeric: true }),
    column('last_signal_at', [118, 0], (r) => date(r.last_signal_at), sorts),
    changed,
  ],
  accounts: [
    column('name', [240, 3], (r) => r.name, { label: 'Firm', sorts: true }),
    ...ours,
    column('icp_tier', [108, 0], (r) => badge(r.icp_tier)),
    column('atlas_score', [80, 0], (r) => number(r.atlas_score), { numeric: true }),
    column('account_types', [180, 1], (r) => words(r.account_types.join(', ') || null)),
    changed,
  ],
  contacts: [
    column('name', [180, 2], (r) => r.name, { label: 'Person', sorts: true }),
    ...ours,
    column('title', [160, 2], (r) => text(r.title)),
    column('email', [200, 2], (r) => text(r.email)),
    changed,
  ],
}

/** The book is also sorted by what Views have only of some records. */
const bookSorts = ['updated_at', 'atlas_score']

/** columnsOf loosens the type: a table has the records of its own place only. */
export function columnsOf({ dataset, source }: Scope): Column<AnyRecord>[] {
  const book = source && bookOf(dataset)
  if (!book) return columns[dataset] as Column<AnyRecord>[]
  const mine = bookColumns[book] as unknown as Column<AnyRecord>[]
  return source.kind === 'view' ? mine : mine.map((c) => (bookSorts.includes(c.key) ? { ...c, sorts: true } : c))
}

/** nameOf is what a record is called: signals have a title only. */
export const nameOf = (record: AnyRecord): string => ('name' in record ? record.name : record.title)
