import { useSyncExternalStore } from 'react'

const query = matchMedia('(max-width: 760px)')

/** useNarrow reports whether the page is as narrow as a telephone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (notify) => {
      query.addEventListener('change', notify)
      return () => query.removeEventListener('change', notify)
    },
    () => query.matches,
  )
}
