import { useState } from 'react'

/**
 * useOrder lets the user reorder a list, with Alt and arrows, or by dragging. keys identify the
 * items, however the list changes during a drag; to moves an item to a position.
 */
export function useOrder(keys: readonly string[], to: (from: number, position: number) => void) {
  // The item that is dragged, and the one below it.
  const [drag, setDrag] = useState<{ item: string; over: string }>()
  const move = (from: number, position: number) => {
    if (from >= 0 && position >= 0 && position < keys.length && position !== from) to(from, position)
  }
  return {
    move,
    /** itemProps are the props of the element of an item. */
    itemProps: (i: number) => ({
      'data-over': drag && drag.over === keys[i] && drag.item !== keys[i] ? '' : undefined,
      onDragOver: (e: React.DragEvent) => {
        const over = keys[i]
        if (!drag || over === undefined) return
        e.preventDefault()
        if (drag.over !== over) setDrag({ ...drag, over })
      },
      onDrop: (e: React.DragEvent) => {
        if (!drag) return
        e.preventDefault()
        setDrag(undefined)
        move(keys.indexOf(drag.item), i)
      },
      onKeyDown: (e: React.KeyboardEvent) => {
        const step = e.altKey ? { ArrowUp: -1, ArrowDown: 1 }[e.key] : undefined
        if (!step || (e.target instanceof Element && e.target.closest('dialog'))) return
        e.preventDefault()
        move(i, i + step)
      },
    }),
    /** handleProps are the props of the drag handle of an item. */
    handleProps: (i: number) => ({
      draggable: true,
      onDragStart: (e: React.DragEvent) => {
        const item = keys[i]
        // Dragging a link or a text in it does not drag the item.
        if (e.target === e.currentTarget && item !== undefined) setDrag({ item, over: item })
      },
      onDragEnd: () => setDrag(undefined),
    }),
  }
}
