import { useSyncExternalStore } from 'react'

const query = matchMedia('(max-width: 760px)')

/** useNarrow reports whether the page is as narrow as a telephone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (tell) => {
      query.addEventListener('change', tell)
      return () => query.removeEventListener('change', tell)
    },
    () => query.matches,
  )
}
