import { useEffect, useState } from 'react'

/** The delay after which a wait is called slow, in milliseconds. */
const slowAfter = 400

/** useSlow reports whether a wait is slow. */
export function useSlow(waiting: boolean): boolean {
  const [slow, setSlow] = useState(false)
  if (!waiting && slow) setSlow(false)
  useEffect(() => {
    if (!waiting) return
    const timer = setTimeout(() => setSlow(true), slowAfter)
    return () => clearTimeout(timer)
  }, [waiting])
  return waiting && slow
}
