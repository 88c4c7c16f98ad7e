import { useEffect, useState } from 'react'

/** How long one may wait before it is called slow, in milliseconds. */
const long = 400

/** useSlow reports whether something has been waited for so long. */
export function useSlow(waiting: boolean): boolean {
  const [slow, setSlow] = useState(false)
  if (!waiting && slow) setSlow(false)
  useEffect(() => {
    if (!waiting) return
    const timer = setTimeout(() => setSlow(true), long)
    return () => clearTimeout(timer)
  }, [waiting])
  return waiting && slow
}
