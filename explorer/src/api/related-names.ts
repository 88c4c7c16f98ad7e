import { queryOptions, type Query, type QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { AnyRecord, Records } from '../datasets'
import { answer, api, type Schemas } from './client'

// The names of related records that were read by their ids or included in a record.

/** Names are related records by their ids; null: deleted. */
export interface Names {
  records: ReadonlyMap<string, AnyRecord | null>
  /** The person to call first, by firm; null: no person is known. */
  toCall: ReadonlyMap<string, AnyRecord | null>
}

type Contact = Records['contacts']

/** Roles in the order of calling; all others follow. */
const roles = ['owner', 'executive', 'developer', 'project_manager', 'estimator'] as const

/** The maximum number of firms of one request: the searches of a batch. */
export const maxFirms = 50

/**
 * toCallQuery reads the person to call first at each firm, for a credit each: by role, then by
 * the latest update. Its key is among the batches, so that nothing is paid for twice.
 */
export const toCallQuery = (workspace: string, firms: string[]) =>
  queryOptions<AnyRecord[]>({
    queryKey: ['batch', workspace, 'contacts', 'to call', firms],
    staleTime: Infinity,
    gcTime: Infinity,
    enabled: false,
    retry: false,
    queryFn: async () => {
      const found: Contact[] = []
      // Pages without a row are free, so each firm is searched for one role after the other.
      for (const role of [...roles, undefined]) {
        const open = firms.filter((id) => !found.some((c) => c.account_id === id))
        if (open.length === 0) break
        const filters = role ? { role: { value: role } } : {}
        const searches = open.map((id) => ({
          dataset: 'contacts',
          filters: { account_id: { value: id }, ...filters },
          sort: { field: 'updated_at', order: 'desc' },
          limit: 1,
        }))
        const request = api.POST('/data/search/batch', {
          params: { query: { workspace_id: workspace } },
          body: { searches } as Schemas['SearchDataBatchRequest'],
        })
        for (const result of (await answer(request)).data.results) {
          if (result.status !== 'ok') throw new Error(result.error?.message)
          found.push(...(result.data as Contact[]))
        }
      }
      return found
    },
  })

const isOf = ({ queryKey: [kind, of] }: Pick<Query, 'queryKey'>, workspace: string) =>
  kind === 'batch' && of === workspace

/** namesIn are the loaded names. */
export function namesIn(client: QueryClient, workspace: string): Names {
  const records = new Map<string, AnyRecord | null>()
  const toCall = new Map<string, AnyRecord | null>()
  for (const query of client.getQueryCache().findAll({ queryKey: ['batch', workspace] })) {
    const found = query.state.data as AnyRecord[] | undefined
    if (!found) continue
    const [, , , idsOrKind, firms] = query.queryKey
    if (Array.isArray(idsOrKind)) for (const id of idsOrKind as string[]) if (!records.has(id)) records.set(id, null)
    for (const record of found) records.set(record.id, record)
    if (idsOrKind !== 'to call') continue
    for (const id of firms as string[]) if (!toCall.has(id)) toCall.set(id, null)
    for (const contact of found as Contact[]) if (contact.account_id) toCall.set(contact.account_id, contact)
  }
  return { records, toCall }
}

/** useRelatedNames subscribes to the loaded names. */
export function useRelatedNames(client: QueryClient, workspace: string): Names {
  const [names, setNames] = useState(() => namesIn(client, workspace))
  useEffect(
    () =>
      client.getQueryCache().subscribe((event) => {
        const changed = event.type === 'removed' || (event.type === 'updated' && event.action.type === 'success')
        if (changed && isOf(event.query, workspace)) setNames(namesIn(client, workspace))
      }),
    [client, workspace],
  )
  return names
}
