import '../ui/page.css'
import './queue.css'
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { go, link, useAddress } from '../address'
import { changeRows, Rows } from '../api/pages'
import { pageSize } from '../api/queries'
import { countQueueAgain, dismiss, queueCountQuery, queueQuery, restore } from '../api/queue'
import { subscriptionsQuery } from '../api/subscriptions'
import { capital, counted, type Records } from '../datasets'
import { credits } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { useFocusAfter } from '../ui/use-focus-after'
import { AlertEntries } from './alert-entries'
import { QueueFilters } from './queue-filters'
import { QueueItem } from './queue-item'
import { bodyOf, format, parse } from './state'

/** QueueScreen has the signals of subscribed types since the subscription, newest arrival first. */
export default function QueueScreen(props: ScreenProps) {
  const { search } = useAddress()
  useEffect(() => {
    document.title = 'Signals · Atlas'
  }, [])
  return (
    <div className="screen">
      <Top workspace={props.workspace} />
      <div className="page">
        <main className="page-column queue">
          <Queue key={search} search={search} {...props} />
        </main>
      </div>
    </div>
  )
}

function Queue({ workspace, descriptors, search }: ScreenProps & { search: string }) {
  const client = useQueryClient()
  const state = parse(search)
  const body = bodyOf(state)
  const subscriptions = useQuery(subscriptionsQuery(workspace.id))
  const count = useQuery(queueCountQuery(workspace.id, body))
  const query = useInfiniteQuery(queueQuery(workspace.id, body))
  const [error, setError] = useState<Error>()
  const types = descriptors.find((d) => d.dataset === 'signals' && d.key === 'signal_type')?.values ?? []
  const labelOf = (type: string) => types.find((t) => t.value === type)?.label || capital(type.replaceAll('_', ' '))
  const rows = new Rows(query.data?.pages ?? [])
  const shown = rows.ids().map((_, i) => rows.at(i) as Records['signals'])
  const item = (at: number) => document.querySelectorAll<HTMLElement>('.queue-item .button')[at]
  const focusLoaded = useFocusAfter(item, shown.length)
  const load = () => {
    focusLoaded()
    if (!query.isFetching) void query.fetchNextPage({ cancelRefetch: false })
  }
  const [does, undoes] = state.dismissed ? [restore, dismiss] : [dismiss, restore]
  const change = async (ids: string[]) => {
    setError(undefined)
    const at = rows.indexOf(ids[0] ?? '')
    const key = queueQuery(workspace.id, body).queryKey
    const putBack = changeRows(client, [...key], (page) => page.filter((row) => !ids.includes(row.id)))
    // The next one gets the focus, or the remaining list.
    requestAnimationFrame(() => (item(at) ?? item(at - 1) ?? document.querySelector<HTMLElement>('.queue h1'))?.focus())
    try {
      await does(workspace.id, ids)
    } catch (cause) {
      putBack()
      setError(cause as Error)
      return
    }
    forget()
    notify(`${counted(ids.length, 'signals')} ${state.dismissed ? 'restored' : 'dismissed'}`, async () => {
      await undoes(workspace.id, ids)
      putBack()
      forget()
    })
  }
  // Pages of other searches are outdated, and would miss or repeat these.
  const forget = () => {
    const mine = JSON.stringify(body)
    client.removeQueries({
      predicate: ({ queryKey: [of, , theirs] }) => of === 'queue' && JSON.stringify(theirs) !== mine,
    })
    void countQueueAgain(client, workspace.id)
  }
  const follows = subscriptions.data?.length
  const left = Math.max((count.data ?? 0) - shown.length, 0)
  const price = Math.min(pageSize, left || pageSize)
  return (
    <>
      <header>
        <h1 tabIndex={-1}>
          {count.data === undefined
            ? 'Signals'
            : `${counted(count.data, 'signals')} ${state.dismissed ? 'dismissed' : 'unread'}`}
        </h1>
        <p className="lead">
          What Atlas has got since this workspace follows its type, the latest first. Dismissing is for everybody in{' '}
          {workspace.name}. <a {...link('/settings/subscriptions')}>Choose what to follow</a>
        </p>
      </header>
      <AlertEntries workspace={workspace.id} />
      {subscriptions.error && <Notice error={subscriptions.error} retry={() => void subscriptions.refetch()} />}
      {follows === 0 && (
        <div className="notice">
          <h2>No type of signal is followed</h2>
          <p>
            A signal is something that happened to a project: a permit was issued, construction began. Signals of the
            types that you choose come here from then on, and the bell counts them. That costs nothing; reading one
            costs a credit.
          </p>
          <a className="button primary" {...link('/settings/subscriptions')}>
            Choose signals to follow
          </a>
        </div>
      )}
      {follows !== undefined && follows > 0 && (
        <QueueFilters
          state={state}
          types={(subscriptions.data ?? []).map(({ signal_type: value }) => ({ value, label: labelOf(value) }))}
          change={(next) => go(format(next))}
        />
      )}
      {count.error && !query.data && <Notice error={count.error} retry={() => void count.refetch()} />}
      {error && <Notice error={error} />}
      {follows !== undefined && follows > 0 && count.data === 0 && shown.length === 0 && (
        <div className="notice">
          <h2>{state.dismissed ? 'Nothing is dismissed' : 'Nothing is unread'}</h2>
          <p>
            {format(state) === format({ inBook: false, dismissed: state.dismissed })
              ? state.dismissed
                ? 'What you dismiss is kept here, and can be restored.'
                : 'Signals come here when Atlas gets them, whatever day they happened. The bell at the top counts them.'
              : 'No signal of the queue is like that.'}
          </p>
        </div>
      )}
      {shown.length > 0 && (
        <ul className="queue-list" aria-label="Signals" aria-busy={query.isFetching}>
          {shown.map((signal) => (
            <QueueItem
              key={signal.id}
              signal={signal}
              type={labelOf(signal.signal_type)}
              action={state.dismissed ? 'Restore' : 'Dismiss'}
              act={() => void change([signal.id])}
            />
          ))}
        </ul>
      )}
      {query.error && <Notice error={query.error} retry={load} price={price} />}
      <div className="actions">
        {!query.error && (query.data ? query.hasNextPage : left > 0) && (
          <button className="button primary" disabled={query.isFetching} onClick={load}>
            Show {counted(price, 'signals')} · {credits(price)}
          </button>
        )}
        {shown.length > 1 && (
          <button className="button" onClick={() => void change(shown.map(({ id }) => id))}>
            {state.dismissed ? 'Restore' : 'Dismiss'} the {shown.length} shown
          </button>
        )}
        {query.data && !query.hasNextPage && left > 0 && !query.isFetching && (
          <button
            className="button primary"
            onClick={() => {
              client.removeQueries({ queryKey: queueQuery(workspace.id, body).queryKey })
              load()
            }}
          >
            Read the queue again · up to {credits(pageSize)}
          </button>
        )}
      </div>
    </>
  )
}
