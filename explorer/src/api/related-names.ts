import { queryOptions, type Query, type QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { AnyRecord, Records } from '../datasets'
import { answer, api, type Schemas } from './client'

// What related records are called, of those that were read by their ids or came with a record.

/** Names are related records by their ids; null: there is no such record any more. */
export interface Names {
  records: ReadonlyMap<string, AnyRecord | null>
  /** The person whom one calls first, by the firm; null: nobody is known there. */
  toCall: ReadonlyMap<string, AnyRecord | null>
}

type Contact = Records['contacts']

/** Roles in the order in which one calls; all others follow. */
const roles = ['owner', 'executive', 'developer', 'project_manager', 'estimator'] as const

/** How many firms one request asks for their person to call: the searches that a batch takes. */
export const mostFirms = 50

/**
 * toCallQuery reads the person whom one calls first at each firm, for a credit each: by role, then
 * by the latest update. It is among the batches, so that nothing of it is paid twice.
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
      // Pages without a row are free, so each firm is asked for one role after the other.
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

/** namesIn are the names that were read. */
export function namesIn(client: QueryClient, workspace: string): Names {
  const records = new Map<string, AnyRecord | null>()
  const toCall = new Map<string, AnyRecord | null>()
  for (const query of client.getQueryCache().findAll({ queryKey: ['batch', workspace] })) {
    const found = query.state.data as AnyRecord[] | undefined
    if (!found) continue
    const [, , , asked, firms] = query.queryKey
    if (Array.isArray(asked)) for (const id of asked as string[]) if (!records.has(id)) records.set(id, null)
    for (const record of found) records.set(record.id, record)
    if (asked !== 'to call') continue
    for (const id of firms as string[]) if (!toCall.has(id)) toCall.set(id, null)
    for (const contact of found as Contact[]) if (contact.account_id) toCall.set(contact.account_id, contact)
  }
  return { records, toCall }
}

/** useRelatedNames follows the names that were read. */
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
