import { useMutation, useQuery } from '@tanstack/react-query'
import { BellPlus, BellRing } from 'lucide-react'
import { alertsQuery, canWatch, settingAlert } from '../api/alerts'
import type { View } from '../api/views'
import { notify } from '../ui/toast'

/** AlertButton has this user told what begins to match a View, or no longer. */
export function AlertButton({ view }: { view: View }) {
  const alerts = useQuery(alertsQuery(view.workspace_id))
  const set = useMutation({
    ...settingAlert(view.workspace_id, view.id),
    onError: (error) => notify(`That did not work: ${error.message}`),
  })
  const alert = alerts.data?.find((a) => a.view_id === view.id)
  if (!canWatch(view) && !alert) return null
  // What was asked for shows at once.
  const on = set.isPending ? set.variables : alert !== undefined
  const Icon = on ? BellRing : BellPlus
  const resting = alert?.state === 'resting'
  return (
    <button
      className={on ? 'icon-button star on' : 'icon-button star'}
      aria-pressed={on}
      aria-label={`Alert: ${view.name}`}
      title={
        resting
          ? 'The alert rests: more records match than it can watch. Narrow the View'
          : on
            ? 'You are told of what begins to match'
            : 'Tell me of what begins to match'
      }
      onClick={() => set.mutate(!on)}
    >
      <Icon size={15} aria-hidden />
    </button>
  )
}
