import type { RefObject } from 'react'
import type { Rows } from '../api/pages'
import { nothing, pick, type Picked } from './selection'
import type { Actions } from './use-actions'
import type { Active } from './use-active'
import { heights } from './use-virtual-rows'

interface Options {
  rows: Rows
  active: Active
  act: Actions
  scroller: RefObject<HTMLDivElement | null>
  narrow: boolean
  /** The drawer shows a record. */
  opened: boolean
  picked: Picked
  onPick: (next: Picked) => void
}

/** useInput handles keys, the mouse and the focus in a table. */
export function useInput({ rows, active, act, scroller, narrow, opened, picked, onPick }: Options) {
  const press = (e: React.KeyboardEvent) => {
    if (e.target instanceof HTMLElement && e.target.closest('.grid-head')) return
    const command = e.metaKey || e.ctrlKey
    if (e.altKey) return
    if (command) {
      if (e.key === 'c' && getSelection()?.isCollapsed !== false) act.copy()
      else if (e.key === 'a') onPick(pick(nothing, rows.ids(), true))
      else return
      e.preventDefault()
      return
    }
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / heights.row) - 2)
    const step = {
      ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -rows.length,
      End: rows.length,
    }[e.key]
    if (e.key === 'ArrowUp' && active.row === 0 && !e.shiftKey && !narrow) {
      scroller.current?.querySelector<HTMLElement>('.head [data-key] button, .head [data-key]')?.focus()
    } else if (step) act.move(step, e.shiftKey)
    else if (e.key === 'ArrowRight') act.moveColumn(1)
    else if (e.key === 'ArrowLeft') act.moveColumn(-1)
    else if (e.key === 'F2') act.edit(active.row, active.column)
    else if (e.key === 'Enter') {
      if (active.column === undefined || !act.edit(active.row, active.column)) act.open(active.row)
    } else if (e.key === ' ') act.open(active.row)
    else if (e.key === 'x') act.select(active.row)
    else if (e.key === 'Escape' && !opened && (picked.all || picked.ids.size > 0)) onPick(nothing)
    else return
    e.preventDefault()
  }
  const click = (e: React.MouseEvent) => {
    if (!(e.target instanceof Element) || e.target.closest('a')) return
    const row = e.target.closest<HTMLElement>('[data-index]')
    if (!row) return
    const index = Number(row.dataset.index)
    if (e.shiftKey) act.selectTo(index)
    else if (e.target.closest('.edit')) act.edit(index, Number(e.target.closest<HTMLElement>('.cell')?.dataset.column))
    else if (e.target.closest('.pick') || e.metaKey || e.ctrlKey) act.select(index)
    else act.open(index)
    active.setRow(index)
  }
  const focused = (e: React.FocusEvent) => {
    const row = e.target.closest<HTMLElement>('[data-index]')
    if (!row) return
    const cell = e.target.closest<HTMLElement>('[data-column]')
    active.setRow(Number(row.dataset.index))
    active.setColumn(cell ? Number(cell.dataset.column) : undefined)
  }
  return { press, click, focused }
}
