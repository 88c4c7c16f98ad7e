import { useMutation, useMutationState, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deliveryOf, subscribe, subscriptionsQuery, type Change, type Delivery } from '../api/subscriptions'
import { capital } from '../datasets'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'

const channels: [Delivery['channels'][number], string][] = [
  ['in_app', 'In the app'],
  ['email', 'E-mail'],
]
const frequencies: [Delivery['frequency'], string][] = [
  ['instant', 'At once'],
  ['daily', 'Once a day'],
  ['weekly', 'Once a week'],
]
const defaultDelivery: Delivery = { channels: ['in_app'], frequency: 'instant' }

/** Subscriptions sets for each type of signal whether and how it is delivered. */
export function Subscriptions({ workspace, descriptors }: ScreenProps) {
  const subscriptions = useQuery(subscriptionsQuery(workspace.id))
  const types = descriptors.find((d) => d.dataset === 'signals' && d.key === 'signal_type')?.values ?? []
  const [error, setError] = useState<Error>()
  const options = subscribe(workspace.id)
  const save = useMutation({
    ...options,
    onMutate: () => setError(undefined),
    onError: setError,
    onSuccess: (before, { type, label }) =>
      notify(`${label}: saved`, (): Promise<unknown> => save.mutateAsync({ type, label, next: () => before })),
  })
  // The requested value is shown at once.
  const pending = useMutationState({
    filters: { mutationKey: options.mutationKey, status: 'pending' },
    select: ({ state }) => state.variables as Change,
  })
  return (
    <>
      <header>
        <h1>Signal alerts</h1>
        <p className="lead">
          Which signals this workspace follows, and how their alerts come. This is for everybody in {workspace.name},
          and saved at once. E-mails go to all members who have not unsubscribed: daily ones at 8:00, weekly ones on
          Mondays at 8:00, by the clock of the workspace.
        </p>
      </header>
      {error && <Notice error={error} refused="Nothing was changed" />}
      {subscriptions.error && <Notice error={subscriptions.error} retry={() => void subscriptions.refetch()} />}
      {subscriptions.isPending && <div className="skeleton" style={{ height: 320 }} />}
      {subscriptions.data && (
        <ul className="alerts" aria-busy={pending.length > 0}>
          {types.map(({ value, label: known, description }) => {
            const label = known || capital(value.replaceAll('_', ' '))
            const delivery = pending
              .filter((c) => c.type === value)
              .reduce((now, { next }) => next(now), deliveryOf(subscriptions.data, value))
            const set = (next: Change['next']) => save.mutate({ type: value, label, next })
            return (
              <li key={value}>
                <label className="follow">
                  <input
                    type="checkbox"
                    checked={delivery !== null}
                    onChange={({ target: { checked } }) => set((now) => (checked ? (now ?? defaultDelivery) : null))}
                  />
                  <span>
                    <b>{label}</b>
                    {description && description !== label && <span className="quiet">{description}</span>}
                  </span>
                </label>
                {delivery && (
                  <DeliveryOptions label={label} delivery={delivery} set={(next) => set((now) => now && next(now))} />
                )}
              </li>
            )
          })}
        </ul>
      )}
    </>
  )
}

interface DeliveryOptionsProps {
  label: string
  delivery: Delivery
  set: (next: (now: Delivery) => Delivery) => void
}

function DeliveryOptions({ label: type, delivery, set }: DeliveryOptionsProps) {
  return (
    <div className="how" role="group" aria-label={`Alerts of ${type}`}>
      {channels.map(([channel, label]) => {
        const on = delivery.channels.includes(channel)
        return (
          <label key={channel}>
            <input
              type="checkbox"
              checked={on}
              // The last one cannot be removed: unfollow instead.
              disabled={on && delivery.channels.length === 1}
              onChange={() => set((now) => withChannel(now, channel, !on))}
            />
            <span>{label}</span>
          </label>
        )
      })}
      <select
        aria-label={`How often, ${type}`}
        value={delivery.frequency}
        onChange={({ target: { value } }) => set((now) => ({ ...now, frequency: value as Delivery['frequency'] }))}
      >
        {frequencies.map(([frequency, label]) => (
          <option key={frequency} value={frequency}>
            {label}
          </option>
        ))}
      </select>
    </div>
  )
}

function withChannel(now: Delivery, channel: Delivery['channels'][number], on: boolean): Delivery {
  const others = now.channels.filter((c) => c !== channel)
  const next = on ? [...others, channel] : others
  return next.length > 0 ? { ...now, channels: next } : now
}
