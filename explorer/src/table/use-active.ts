import { useLayoutEffect, useRef, useState, type RefObject } from 'react'
import type { Rows } from '../api/pages'
import { cellID, rowID } from './grid-row'

/** Active is the row that keys act on, and its cell if not the whole row. */
export interface Active {
  row: number
  column: number | undefined
  setRow: (row: number) => void
  setColumn: (column: number | undefined) => void
  /** Set while a key moves: the row or the cell gets the focus when it is rendered. */
  movingRef: RefObject<boolean>
}

/** useActive has the active row of a table: of another table its first, or the one that the drawer steps to. */
export function useActive(name: string, rows: Rows, shown: string | undefined): Active {
  const first = () => Math.max(0, shown ? rows.indexOf(shown) : 0)
  const [row, setRow] = useState(first)
  const [column, setColumn] = useState<number>()
  const movingRef = useRef(false)
  const [record, setRecord] = useState(shown)
  if (record !== shown) {
    setRecord(shown)
    const at = shown ? rows.indexOf(shown) : -1
    if (at >= 0) setRow(at)
  }
  const [of, setOf] = useState(name)
  if (of !== name) {
    setOf(name)
    setRow(first())
  }
  return { row, column, setRow, setColumn, movingRef }
}

/**
 * useFocus moves the focus to the active row or cell after a move. A passive effect of the
 * render before would take the move for its own, and focus the row that was left.
 */
export function useFocus({ row, column, movingRef }: Active) {
  useLayoutEffect(() => {
    if (!movingRef.current) return
    const element = document.getElementById(column === undefined ? rowID(row) : cellID(row, column))
    // It may be rendered only after the next scroll.
    if (!element) return
    movingRef.current = false
    element.focus({ preventScroll: true })
    if (column !== undefined) element.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  })
}
