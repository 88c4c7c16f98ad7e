import { useEffect, useRef } from 'react'

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
    // A virtual table draws its rows after it was measured.
    requestAnimationFrame(() => find(was)?.focus())
  })
  return () => {
    before.current = there
  }
}
