import { useEffect } from 'react'
import { addFilter } from '../builder/page'
import { isTyping } from '../ui/is-typing'

/** useShortcuts handles the keys of a search. */
export function useShortcuts() {
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      if (isTyping(e) || e.metaKey || e.ctrlKey || e.altKey || document.querySelector('dialog[open]')) return
      if (e.key === '/') document.getElementById('search')?.focus()
      else if (e.key === 'f') document.getElementById(addFilter)?.click()
      else if ((e.key === 'j' || e.key === 'k') && !e.defaultPrevented) {
        document.querySelector<HTMLElement>('[role=row][tabindex="0"]')?.focus()
      } else return
      e.preventDefault()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}
