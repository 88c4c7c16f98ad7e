import { useMutation, useQuery } from '@tanstack/react-query'
import { subscribe, subscriptionsQuery, type Delivery, type Subscription } from '../api/subscriptions'
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
const usual: Delivery = { channels: ['in_app'], frequency: 'instant' }

/** Subscriptions sets for each type of signal whether and how its alerts come. */
export function Subscriptions({ workspace, descriptors }: ScreenProps) {
  const subscriptions = useQuery(subscriptionsQuery(workspace.id))
  const save = useMutation(subscribe(workspace.id))
  const types = descriptors.find((d) => d.dataset === 'signals' && d.key === 'signal_type')?.values ?? []
  const set = (type: string, label: string, before: Subscription | undefined, delivery: Delivery | null) => {
    const input = (to: Delivery | null, id?: string) => ({ type, delivery: to, ...(id ? { id } : {}) })
    save.mutate(input(delivery, before?.id), {
      onSuccess: () =>
        notify(`${label}: saved`, () => {
          // A subscription that is new has got its id meanwhile.
          void subscriptions.refetch().then(({ data }) => {
            save.mutate(input(before?.delivery ?? null, data?.find((s) => s.signal_type === type)?.id))
          })
        }),
    })
  }
  return (
    <>
      <header>
        <h1>Signal alerts</h1>
        <p className="lead">
          Which signals this workspace follows, and how their alerts come. This is for everybody in {workspace.name},
          and saved at once. Atlas keeps the choice; the program that sends your alerts reads it.
        </p>
      </header>
      {save.error && <Notice error={save.error} />}
      {subscriptions.error && <Notice error={subscriptions.error} retry={() => void subscriptions.refetch()} />}
      {subscriptions.isPending && <div className="skeleton" style={{ height: 320 }} />}
      {subscriptions.data && (
        <ul className="alerts">
          {types.map(({ value, label, description }) => {
            const mine = subscriptions.data.find((s) => s.signal_type === value)
            const name = label || capital(value.replaceAll('_', ' '))
            return (
              <li key={value}>
                <label className="follow">
                  <input
                    type="checkbox"
                    checked={mine !== undefined}
                    onChange={() => set(value, name, mine, mine ? null : usual)}
                  />
                  <span>
                    <b>{name}</b>
                    {description && description !== name && <span className="quiet">{description}</span>}
                  </span>
                </label>
                {mine && (
                  <How name={name} delivery={mine.delivery} set={(delivery) => set(value, name, mine, delivery)} />
                )}
              </li>
            )
          })}
        </ul>
      )}
    </>
  )
}

function How({ name, delivery, set }: { name: string; delivery: Delivery; set: (d: Delivery) => void }) {
  return (
    <div className="how" role="group" aria-label={`Alerts of ${name}`}>
      {channels.map(([channel, label]) => {
        const on = delivery.channels.includes(channel)
        const others = delivery.channels.filter((c) => c !== channel)
        return (
          <label key={channel}>
            <input
              type="checkbox"
              checked={on}
              // The last way stays: without one, unfollow.
              disabled={on && others.length === 0}
              onChange={() => set({ ...delivery, channels: on ? others : [...others, channel] })}
            />
            <span>{label}</span>
          </label>
        )
      })}
      <select
        aria-label={`How often, ${name}`}
        value={delivery.frequency}
        onChange={(e) => set({ ...delivery, frequency: e.target.value as Delivery['frequency'] })}
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
