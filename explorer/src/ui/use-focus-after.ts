import { useEffect, useRef } from 'react'

/** The maximum number of frames to wait for the element to focus. */
const maxFrames = 60

/**
 * useFocusAfter preserves the focus when a button that loads something is removed. Call the
 * returned function when the button is pressed. Once there are more items, the element that find
 * returns gets the focus; find takes the previous number of items.
 */
export function useFocusAfter(find: (before: number) => HTMLElement | null | undefined, there: number): () => void {
  const before = useRef<number>(undefined)
  useEffect(() => {
    const was = before.current
    if (was === undefined || there <= was) return
    before.current = undefined
    // A virtual table renders its rows after measuring, and its code may still be loading.
    const look = (frames: number) => {
      const found = find(was)
      if (found) found.focus()
      else if (frames > 0) requestAnimationFrame(() => look(frames - 1))
    }
    requestAnimationFrame(() => look(maxFrames))
  })
  return () => {
    before.current = there
  }
}
