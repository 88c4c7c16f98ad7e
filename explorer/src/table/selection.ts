import type { Rows } from '../api/pages'
import type { AnyRecord, Dataset } from '../datasets'

/** Picked is a selection of rows: those with the ids, or all matching ones except these. */
export interface Picked {
  all: boolean
  ids: ReadonlySet<string>
}

export const nothing: Picked = { all: false, ids: new Set() }
export const everything: Picked = { all: true, ids: new Set() }

export const isPicked = ({ all, ids }: Picked, id: string) => ids.has(id) !== all

/** pick selects or deselects rows. */
export function pick(picked: Picked, rows: string[], on: boolean): Picked {
  const ids = new Set(picked.ids)
  for (const id of rows) {
    if (on === picked.all) ids.delete(id)
    else ids.add(id)
  }
  return { all: picked.all, ids }
}

/** countOf is the number of selected rows among the matching ones. */
export const countOf = ({ all, ids }: Picked, total: number) => (all ? Math.max(0, total - ids.size) : ids.size)

/** Selection is the input of an action on selected rows. */
export interface Selection {
  dataset: Dataset
  /** The number of selected rows, including those that are not loaded. */
  count: number
  /** The selected rows that are loaded, in the order of the table. */
  ids: string[]
  /** records returns the rows of ids, which are paid for. */
  records: () => AnyRecord[]
  /** The keys of the visible columns. */
  columns: string[]
  clear: () => void
}

/** recordsOf returns the rows with the ids, in the order of the table. */
export function recordsOf(rows: Rows, ids: string[]): AnyRecord[] {
  const included = new Set(ids)
  return rows.pages.flatMap((p) =>
    p.ids.some((id) => included.has(id)) ? p.rows.filter((r) => included.has(r.id)) : [],
  )
}
