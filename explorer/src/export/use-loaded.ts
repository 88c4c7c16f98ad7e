import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { outdatedQuery } from '../api/outdated'
import { Rows } from '../api/pages'
import { findLoaded, rowsQuery } from '../api/queries'
import { derivedRows } from '../search/derived-rows'
import type { LoadedRows, Source } from './job'

/** useLoaded has the ids of the rows, if they are known, and the records among them that are already paid for. */
export function useLoaded(workspace: string, source: Source, enabled: boolean): { ids?: string[]; known: LoadedRows } {
  const client = useQueryClient()
  const { dataset } = source
  const whole = useMemo(() => completeRows(client, workspace, source), [client, workspace, source])
  const ids = enabled ? (source.ids ?? whole?.ids) : undefined
  const known = useMemo(
    () => (ids ? (whole?.known ?? loaded(client, workspace, dataset, ids)) : {}),
    [client, workspace, dataset, ids, whole],
  )
  return { known, ...(ids && { ids }) }
}

/** completeRows are the rows of a search, in its order, if all are loaded and none has changed since. */
function completeRows(client: QueryClient, workspace: string, { dataset, body, sort, ids }: Source) {
  if (ids) return undefined
  const now = { body, sort }
  const { queryKey } = rowsQuery(workspace, dataset, body, sort)
  const read = client.getQueryData(queryKey)
  const data = read?.pages.at(-1)?.next === undefined ? read : undefined
  const rows = new Rows((data ?? derivedRows(client, workspace, dataset, now))?.pages ?? [])
  const changed = client.getQueryData(outdatedQuery(workspace, dataset).queryKey)
  if (rows.length === 0 || rows.ids().some((id) => changed?.has(id))) return undefined
  const known: LoadedRows = Object.fromEntries(rows.pages.flatMap((p) => p.rows.map((r) => [r.id, r])))
  return { ids: rows.ids(), known }
}

/** loaded are the records that are already paid for. */
function loaded(client: QueryClient, workspace: string, dataset: Source['dataset'], ids: string[]) {
  const known: LoadedRows = {}
  const changed = client.getQueryData(outdatedQuery(workspace, dataset).queryKey)
  for (const id of ids) {
    const record = changed?.has(id) ? undefined : findLoaded(client, workspace, dataset, id)
    if (record) known[id] = record
  }
  return known
}
