import { useEffect, useRef } from 'react'

/** How many frames what shall have the focus is waited for. */
const most = 60

/**
 * useFocusAfter keeps the focus when a button that loads something goes away with it. Call
 * what it returns when the button is pressed. Once there is more than then, what find
 * returns has the focus; find takes how much there was.
 */
export function useFocusAfter(find: (before: number) => HTMLElement | null | undefined, there: number): () => void {
  const before = useRef<number>(undefined)
  useEffect(() => {
    const was = before.current
    if (was === undefined || there <= was) return
    before.current = undefined
    // A virtual table draws its rows after it was measured, and its program may be on its way.
    const look = (frames: number) => {
      const found = find(was)
      if (found) found.focus()
      else if (frames > 0) requestAnimationFrame(() => look(frames - 1))
    }
    requestAnimationFrame(() => look(most))
  })
  return () => {
    before.current = there
  }
}
