import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, type RefObject } from 'react'
import type { Active } from './use-active'

/** Heights in pixels: of a row of a table, of a card on a narrow page, and of the names of the columns. */
export const heights = { row: 36, card: 64, head: 32 }
/** The next page is read when the user scrolls and this many loaded rows are left below. */
const prefetchDistance = 5

/** The scroll position of each table, in pixels, restored on return. */
const scrollOffsets = new Map<string, number>()

interface Options {
  /** Identifies the search. */
  name: string
  /** How many rows are loaded. */
  count: number
  narrow: boolean
  scroller: RefObject<HTMLDivElement | null>
  active: Active
  /** The active row is the one that the drawer shows. */
  opened: boolean
  /** Reads the next page; absent at the end. */
  onEnd: (() => void) | undefined
}

/** useVirtualRows virtualizes the rows, and scrolls the active one into view. */
export function useVirtualRows({ name, count, narrow, scroller, active: { row, movingRef }, opened, onEnd }: Options) {
  useEffect(() => {
    void scroller.current?.scrollTo(0, scrollOffsets.get(name) ?? 0)
  }, [name, scroller])
  // The compiler of React cannot see into the virtualizer, and need not.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow ? heights.card : heights.row),
    overscan: 8,
    initialOffset: () => scrollOffsets.get(name) ?? 0,
    scrollPaddingEnd: narrow ? 0 : heights.head,
    // The focused row stays rendered, however far the user scrolls.
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range)
      return shown.includes(row) || row >= count ? shown : [...shown, row].sort((a, b) => a - b)
    },
  })
  useEffect(() => virtual.measure(), [narrow, virtual])
  // Before useFocus, which ends the move.
  useLayoutEffect(() => {
    if (movingRef.current) virtual.scrollToIndex(row)
  }, [row, virtual, movingRef])
  useEffect(() => {
    if (!opened || movingRef.current) return
    virtual.scrollToIndex(row)
    // This scroll is not by the user.
    scrollOffsets.set(name, scroller.current?.scrollTop ?? 0)
  }, [opened, row, virtual, name, movingRef, scroller])

  const scrolled = (e: React.UIEvent<HTMLElement>) => {
    const box = e.currentTarget
    // Removed rows, or returning to the table, scroll too.
    const on = box.scrollTop > (scrollOffsets.get(name) ?? 0)
    scrollOffsets.set(name, box.scrollTop)
    const below = box.scrollHeight - box.scrollTop - box.clientHeight
    if (on && below < prefetchDistance * heights.row) onEnd?.()
  }
  return { virtual, scrolled }
}
