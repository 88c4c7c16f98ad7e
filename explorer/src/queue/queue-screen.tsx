import '../ui/page.css'
import './queue.css'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { go, link, useAddress } from '../address'
import { subscriptionsQuery } from '../api/subscriptions'
import { capital, counted } from '../datasets'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { Notice } from '../ui/notice'
import { AlertEntries } from './alert-entries'
import { NoSubscriptions, EmptyQueue } from './empty-queue'
import { QueueActions } from './queue-actions'
import { QueueFilters } from './queue-filters'
import { QueueItem } from './queue-item'
import { format, parse } from './state'
import { useQueue } from './use-queue'

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
  const state = parse(search)
  const queue = useQueue(workspace.id, state)
  const { count, query, shown } = queue
  const subscriptions = useQuery(subscriptionsQuery(workspace.id))
  const follows = subscriptions.data?.length
  const types = descriptors.find((d) => d.dataset === 'signals' && d.key === 'signal_type')?.values ?? []
  const labelOf = (type: string) => types.find((t) => t.value === type)?.label || capital(type.replaceAll('_', ' '))
  const action = state.dismissed ? 'Restore' : 'Dismiss'
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
      {follows === 0 && <NoSubscriptions />}
      {follows !== undefined && follows > 0 && (
        <QueueFilters
          state={state}
          types={(subscriptions.data ?? []).map(({ signal_type: value }) => ({ value, label: labelOf(value) }))}
          change={(next) => go(format(next))}
        />
      )}
      {count.error && !query.data && <Notice error={count.error} retry={() => void count.refetch()} />}
      {queue.error && <Notice error={queue.error} />}
      {follows !== undefined && follows > 0 && count.data === 0 && shown.length === 0 && <EmptyQueue state={state} />}
      {shown.length > 0 && (
        <ul className="queue-list" aria-label="Signals" aria-busy={query.isFetching}>
          {shown.map((signal) => (
            <QueueItem
              key={signal.id}
              signal={signal}
              type={labelOf(signal.signal_type)}
              action={action}
              act={() => void queue.change([signal.id])}
            />
          ))}
        </ul>
      )}
      {query.error && <Notice error={query.error} retry={queue.load} price={queue.price} />}
      <QueueActions queue={queue} action={action} />
    </>
  )
}
