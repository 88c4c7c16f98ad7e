import { useEffect, useMemo } from 'react'
import { useSearch } from '../search/context'
import { columnsOf } from '../search/columns'
import { defaults, normal, remember, remembered, type Chosen } from './choice'

// What the page was opened with is shown as it says.
const opened = location.search && location.pathname + location.search

/** useColumns returns the columns of the table, and how to choose others. */
export function useColumns() {
  const { state, change } = useSearch()
  const { dataset } = state
  const chosen = state.columns ?? defaults(dataset)
  const choose = (next: Chosen[]) => {
    const columns = normal(dataset, next)
    remember(dataset, columns)
    change({ ...state, columns }, { replace: true })
  }
  useEffect(() => {
    if (state.columns || location.pathname + location.search === opened) return
    const columns = remembered(dataset)
    if (columns) change({ ...state, columns }, { replace: true })
  }, [dataset, state, change])
  const columns = useMemo(() => columnsOf(dataset, state.columns), [dataset, state.columns])
  return { chosen, columns, choose }
}
