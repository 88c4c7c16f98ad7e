import type { ReactNode } from 'react'
import { labelOf, type AnyRecord, type Dataset, type Records } from '../datasets'
import { formatDay, formatNumber } from '../format'

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

/** columnsOf loosens the type: a table has the records of its own dataset only. */
export const columnsOf = (dataset: Dataset) => columns[dataset] as Column<AnyRecord>[]

/** nameOf is what a record is called: signals have a title only. */
export const nameOf = (record: AnyRecord): string => ('name' in record ? record.name : record.title)
