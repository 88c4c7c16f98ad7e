import { useState } from 'react'

/** useOrder lets a list be put in another order: by Alt with arrows, or dragging. to moves an item to a position. */
export function useOrder(length: number, to: (from: number, position: number) => void) {
  // Positions of the one that is dragged, and of the one below it.
  const [drag, setDrag] = useState<{ from: number; over: number }>()
  const move = (from: number, position: number) => {
    if (position >= 0 && position < length && position !== from) to(from, position)
  }
  return {
    move,
    /** itemProps are those of the element of an item. */
    itemProps: (i: number) => ({
      draggable: true,
      'data-over': drag && drag.over === i && drag.from !== i ? '' : undefined,
      onDragStart: () => setDrag({ from: i, over: i }),
      onDragEnd: () => setDrag(undefined),
      onDragOver: (e: React.DragEvent) => {
        if (!drag) return
        e.preventDefault()
        if (drag.over !== i) setDrag({ ...drag, over: i })
      },
      onDrop: (e: React.DragEvent) => {
        e.preventDefault()
        setDrag(undefined)
        if (drag) move(drag.from, i)
      },
      onKeyDown: (e: React.KeyboardEvent) => {
        const step = e.altKey ? { ArrowUp: -1, ArrowDown: 1 }[e.key] : undefined
        if (!step) return
        e.preventDefault()
        move(i, i + step)
      },
    }),
  }
}
