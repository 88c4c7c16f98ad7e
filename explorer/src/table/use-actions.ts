import { useCallback, useRef, useState } from 'react'
import type { Rows } from '../api/pages'
import type { Column } from '../search/columns'
import { useSearch } from '../search/context'
import { notify } from '../ui/toast'
import { canEdit } from './editing'
import { isPicked, pick, type Picked } from './selection'
import { cellText, jsonOf } from './texts'
import type { Active } from './use-active'

interface Options {
  rows: Rows
  columns: readonly Column[]
  active: Active
  picked: Picked
  onPick: (next: Picked) => void
  /** Reads the next page; absent at the end. */
  onEnd: (() => void) | undefined
}

export type Actions = ReturnType<typeof useActions>

/** useActions has the actions on the rows and cells of a table, by key or mouse. */
export function useActions({ rows, columns, active, picked, onPick, onEnd }: Options) {
  const { state, change } = useSearch()
  const { movingRef, setColumn } = active
  // The cell being edited.
  const [editing, setEditing] = useState<{ id: string; key: string }>()
  // The start of a range of selected rows.
  const anchor = useRef(0)

  const open = (index: number) => {
    const record = rows.id(index)
    if (record) change({ ...state, record }, { replace: state.record !== undefined })
  }
  const select = (index: number) => {
    const id = rows.id(index)
    if (id) onPick(pick(picked, [id], !isPicked(picked, id)))
    anchor.current = index
  }
  /** selectTo selects the rows from the anchor to one, which may be less than before. */
  const selectTo = (index: number) => {
    const between = (a: number, b: number) => rows.ids(Math.min(a, b), Math.max(a, b) + 1)
    const less = pick(picked, between(anchor.current, active.row), false)
    onPick(pick(less, between(anchor.current, index), true))
  }
  const move = (by: number, range: boolean) => {
    movingRef.current = true
    const next = Math.min(rows.length - 1, Math.max(0, active.row + by))
    if (range) selectTo(next)
    else anchor.current = next
    active.setRow(next)
    if (state.record) open(next)
    if (by > 0 && next >= rows.length - 1) onEnd?.()
  }
  const moveColumn = (by: number) => {
    movingRef.current = true
    const next = Math.min(columns.length - 1, (active.column ?? -1) + by)
    active.setColumn(next < 0 ? undefined : next)
  }
  const copy = () => {
    const record = rows.at(active.row)
    const of = active.column === undefined ? undefined : columns[active.column]
    if (!record) return
    void navigator.clipboard
      .writeText(of ? cellText(record, of.key) : jsonOf(record))
      .then(() => notify(of ? `${of.label} copied` : 'The row is copied as JSON'))
  }
  const edit = (index: number, at: number | undefined) => {
    const record = rows.at(index)
    const key = at === undefined ? columns.find((c) => record && canEdit(record, c.key))?.key : columns[at]?.key
    if (!record || !key || !canEdit(record, key)) return false
    active.setRow(index)
    setEditing({ id: record.id, key })
    return true
  }
  const edited = useCallback(
    (key: string, back: boolean) => {
      setEditing(undefined)
      if (!back) return
      movingRef.current = true
      setColumn(columns.findIndex((c) => c.key === key))
    },
    [columns, movingRef, setColumn],
  )
  return { open, select, selectTo, move, moveColumn, copy, edit, edited, editing }
}
