import type { Rows } from '../api/pages'
import type { AnyRecord, Dataset } from '../datasets'

/** Picked says which rows are selected: those with the ids, or all that match but these. */
export interface Picked {
  all: boolean
  ids: ReadonlySet<string>
}

export const nothing: Picked = { all: false, ids: new Set() }
export const everything: Picked = { all: true, ids: new Set() }

export const isPicked = ({ all, ids }: Picked, id: string) => ids.has(id) !== all

/** pick selects rows, or no longer. */
export function pick(picked: Picked, rows: string[], on: boolean): Picked {
  const ids = new Set(picked.ids)
  for (const id of rows) {
    if (on === picked.all) ids.delete(id)
    else ids.add(id)
  }
  return { all: picked.all, ids }
}

/** countOf is how many rows are selected of those that match. */
export const countOf = ({ all, ids }: Picked, total: number) => (all ? Math.max(0, total - ids.size) : ids.size)

/** Selection is what an action on selected rows works on. */
export interface Selection {
  dataset: Dataset
  /** How many rows are selected, with those that are not loaded. */
  count: number
  /** The selected rows that are loaded, in the order of the table. */
  ids: string[]
  /** records returns the rows of ids. They are paid for. */
  records: () => AnyRecord[]
  /** The keys of the columns in sight. */
  columns: string[]
  clear: () => void
}

/** recordsOf returns the rows with the ids, in the order of the table. */
export function recordsOf(rows: Rows, ids: string[]): AnyRecord[] {
  const wanted = new Set(ids)
  return rows.pages.flatMap((p) => (p.ids.some((id) => wanted.has(id)) ? p.rows.filter((r) => wanted.has(r.id)) : []))
}
