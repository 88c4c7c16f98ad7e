import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { sessionQuery } from '../api/queries'
import { rememberSearch } from '../session/recent'
import type { Search } from './context'
import { format, isEmpty } from './state'

/** How long a search is visible before it is stored, in milliseconds. */
const minVisible = 1500

/** useRecordRecentSearch stores the address of a search with conditions, for the palette. */
export function useRecordRecentSearch({ workspace, state }: Search): void {
  const user = useQuery(sessionQuery).data?.id
  const { record: _, ...search } = state
  const address = isEmpty(state) ? undefined : format(search)
  useEffect(() => {
    if (!user || address === undefined) return
    const timer = setTimeout(() => rememberSearch({ user, workspace: workspace.id }, address), minVisible)
    return () => clearTimeout(timer)
  }, [user, workspace.id, address])
}
