import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { membersQuery, nameOf } from '../api/people'
import { useRelatedNames } from '../api/related-names'
import { useSearch } from '../search/context'
import { columnsOf } from '../search/columns'
import { defaults, normal, storeColumns, storedColumns, type Chosen } from './choice'
import { fieldOf, tableOf } from './fields'

// An address with columns has priority when the page is opened.
const opened = location.search && location.pathname + location.search

/** useColumns returns the columns of the table, and how to choose others. */
export function useColumns() {
  const { state, change, fieldsOf, workspace } = useSearch()
  const table = tableOf(state)
  // A View has columns of its own.
  const isStored = state.source?.kind !== 'view'
  const chosen = state.columns ?? defaults(table)
  const choose = (next: Chosen[]) => {
    const columns = normal(table, next)
    if (isStored) storeColumns(table, columns)
    change({ ...state, columns }, { replace: true })
  }
  useEffect(() => {
    if (!isStored || state.columns || location.pathname + location.search === opened) return
    const columns = storedColumns(table)
    if (columns) change({ ...state, columns }, { replace: true })
  }, [isStored, table, state, change])
  const namesUsers = state.columns?.some(({ key }) => fieldOf(table, key)?.kind === 'member') ?? false
  const { data: members } = useQuery({ ...membersQuery(workspace.id), enabled: namesUsers })
  const names = useRelatedNames(useQueryClient(), workspace.id)
  const columns = useMemo(() => {
    const values = new Map(fieldsOf(state.dataset).map((d) => [d.key, d.values ?? []]))
    // Fields with several values have plural names.
    const label = (key: string, value: string) => {
      if (fieldOf(table, key)?.kind === 'member') {
        const member = members?.find((m) => m.id === value)
        return member ? nameOf(member) : members ? 'A former member' : '…'
      }
      return (values.get(key) ?? values.get(key.replace(/s$/, '')))?.find((v) => v.value === value)?.label
    }
    return columnsOf(table, state.columns, label, names)
  }, [table, state.dataset, state.columns, fieldsOf, members, names])
  return { chosen, columns, choose, names }
}
