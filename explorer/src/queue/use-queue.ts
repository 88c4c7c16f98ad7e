import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { changeRows, Rows } from '../api/pages'
import { pageSize } from '../api/queries'
import { refreshQueueCount, dismiss, queueCountQuery, queueQuery, restore } from '../api/queue'
import { counted, type Records } from '../datasets'
import { notify } from '../ui/toast'
import { useFocusAfter } from '../ui/use-focus-after'
import { bodyOf, type QueueState } from './state'

export type Queue = ReturnType<typeof useQueue>

const item = (at: number) => document.querySelectorAll<HTMLElement>('.queue-item .button')[at]

/** useQueue reads the signals of the queue page by page. change dismisses some of them, or restores dismissed ones. */
export function useQueue(workspace: string, state: QueueState) {
  const client = useQueryClient()
  const body = bodyOf(state)
  const { queryKey } = queueQuery(workspace, body)
  const count = useQuery(queueCountQuery(workspace, body))
  const query = useInfiniteQuery(queueQuery(workspace, body))
  const [error, setError] = useState<Error>()
  const rows = new Rows(query.data?.pages ?? [])
  const shown = rows.ids().map((_, i) => rows.at(i) as Records['signals'])
  const focusLoaded = useFocusAfter(item, shown.length)
  const load = () => {
    focusLoaded()
    if (!query.isFetching) void query.fetchNextPage({ cancelRefetch: false })
  }
  // Pages of other searches are outdated, and would miss or repeat these.
  const dropOtherSearches = () => {
    const mine = JSON.stringify(body)
    client.removeQueries({
      predicate: ({ queryKey: [of, , theirs] }) => of === 'queue' && JSON.stringify(theirs) !== mine,
    })
    void refreshQueueCount(client, workspace)
  }
  const [does, undoes] = state.dismissed ? [restore, dismiss] : [dismiss, restore]
  const change = async (ids: string[]) => {
    setError(undefined)
    const at = rows.indexOf(ids[0] ?? '')
    const putBack = changeRows(client, [...queryKey], (page) => page.filter((row) => !ids.includes(row.id)))
    // The next one gets the focus, or the remaining list.
    requestAnimationFrame(() => (item(at) ?? item(at - 1) ?? document.querySelector<HTMLElement>('.queue h1'))?.focus())
    try {
      await does(workspace, ids)
    } catch (cause) {
      putBack()
      setError(cause as Error)
      return
    }
    dropOtherSearches()
    notify(`${counted(ids.length, 'signals')} ${state.dismissed ? 'restored' : 'dismissed'}`, async () => {
      await undoes(workspace, ids)
      putBack()
      dropOtherSearches()
    })
  }
  const left = Math.max((count.data ?? 0) - shown.length, 0)
  return {
    count,
    query,
    shown,
    /** How many are not read. */
    left,
    /** What the next page costs, in credits. */
    price: Math.min(pageSize, left || pageSize),
    load,
    /** reload reads the queue from its beginning. */
    reload: () => {
      client.removeQueries({ queryKey })
      load()
    },
    change,
    /** Why the last change failed. */
    error,
  }
}
