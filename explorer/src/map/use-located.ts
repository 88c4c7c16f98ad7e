import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { batchQuery, findLoaded } from '../api/queries'
import type { AnyRecord } from '../datasets'
import { useSearch } from '../search/context'

/** How many records are read at once. */
const most = 100

/**
 * useLocated finds where rows are. Those of the book and of Views do not say: whole records
 * do, and each that is not loaded costs a credit more.
 */
export function useLocated(rows: AnyRecord[]) {
  const { workspace, state } = useSearch()
  const client = useQueryClient()
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: (ids: string[]) => client.fetchQuery(batchQuery(workspace.id, 'projects', ids)),
  })
  const located = useMemo(
    () => (state.source ? rows.flatMap((r) => findLoaded(client, workspace.id, 'projects', r.id) ?? []) : rows),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what was read is loaded then
    [client, workspace, state.source, rows, data],
  )
  const known = new Set(located.map((r) => r.id))
  const missing = rows.flatMap((r) => (known.has(r.id) ? [] : [r.id])).slice(0, most)
  return { located, missing: missing.length, error, busy: isPending, locate: () => mutate(missing) }
}
