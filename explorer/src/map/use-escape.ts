import { useEffect } from 'react'

/** useEscape cancels a drawing by Escape, before anything else takes the key. */
export function useEscape(cancel: () => void) {
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      if (e.key !== 'Escape') return
      e.preventDefault()
      cancel()
    }
    addEventListener('keydown', listen, true)
    return () => removeEventListener('keydown', listen, true)
  }, [cancel])
}
