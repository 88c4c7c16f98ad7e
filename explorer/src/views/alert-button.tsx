import { useMutation, useQuery } from '@tanstack/react-query'
import { BellPlus, BellRing } from 'lucide-react'
import { alertQuery, canWatch, restText, setAlertMutation, type Alert } from '../api/alerts'
import type { View } from '../api/views'
import { notifyFailure } from '../ui/toast'

/** AlertButton switches this user's alert on a View on or off. */
export function AlertButton({ view }: { view: View }) {
  const { data: alert } = useQuery(alertQuery(view.workspace_id, view.id))
  const set = useMutation({ ...setAlertMutation(view.workspace_id, view.id), onError: notifyFailure })
  if (!canWatch(view) && !alert) return null
  // The requested value is shown at once.
  const on = set.isPending ? set.variables !== false : alert !== undefined
  const Icon = on ? BellRing : BellPlus
  return (
    <button
      className={on ? 'icon-button star on' : 'icon-button star'}
      aria-pressed={on}
      aria-label={`Alert: ${view.name}`}
      title={
        restText(alert?.rest ?? null) ||
        (on ? 'You are notified of what begins to match' : 'Notify me of what begins to match')
      }
      onClick={() => set.mutate(!on)}
    >
      <Icon size={15} aria-hidden />
    </button>
  )
}

const mails: [Alert['email'], string][] = [
  [null, 'No e-mails'],
  ['instant', 'E-mail at once'],
  ['daily', 'E-mail every morning'],
  ['weekly', 'E-mail on Mondays'],
]

/** AlertMail chooses how often the alert on a View is mailed, if there is one. */
export function AlertMail({ view }: { view: View }) {
  const { data: alert } = useQuery(alertQuery(view.workspace_id, view.id))
  const set = useMutation({ ...setAlertMutation(view.workspace_id, view.id), onError: notifyFailure })
  if (!alert) return null
  const chosen = set.isPending && typeof set.variables === 'object' ? set.variables.email : alert.email
  return (
    <select
      className="plain-select"
      aria-label={`E-mails of the alert: ${view.name}`}
      title="How often you are mailed what is new and you have not looked at"
      value={chosen ?? ''}
      onChange={(e) => set.mutate({ email: (e.target.value || null) as Alert['email'] })}
    >
      {mails.map(([value, label]) => (
        <option key={label} value={value ?? ''}>
          {label}
        </option>
      ))}
    </select>
  )
}
