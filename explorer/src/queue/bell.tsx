import './bell.css'
import { useQuery } from '@tanstack/react-query'
import { Bell as Icon } from 'lucide-react'
import { link, useAddress } from '../address'
import { alertsQuery } from '../api/alerts'
import { queueCountQuery } from '../api/queue'
import { formatNumber } from '../format'
import { badge } from './state'

/**
 * Bell links to the queue of signals and shows how many are unread, how many records are new in
 * Views, and how many alerts began to rest. Counting is free; if it fails, the bell has no
 * number.
 */
export function Bell({ workspace }: { workspace: string }) {
  const signals = useQuery({ ...queueCountQuery(workspace, {}), retry: false })
  const alerts = useQuery({ ...alertsQuery(workspace), retry: false })
  const newMatches = (alerts.data ?? []).reduce((sum, a) => sum + a.new_count, 0)
  const resting = (alerts.data ?? []).filter((a) => !a.rest_seen).length
  const arrived = signals.data ?? 0
  const unread = arrived + newMatches + resting
  const here = useAddress().path === '/queue'
  const parts = [
    ...(arrived > 0 ? [`${formatNumber(arrived)} unread`] : []),
    ...(newMatches > 0 ? [`${formatNumber(newMatches)} new in Views`] : []),
    ...(resting > 0 ? [resting === 1 ? '1 alert rests' : `${formatNumber(resting)} alerts rest`] : []),
  ]
  const label = ['Signal queue', ...parts].join(', ')
  return (
    <a className="bell" {...link('/queue')} aria-label={label} title={label} aria-current={here ? 'page' : undefined}>
      <Icon size={16} aria-hidden />
      {unread > 0 && (
        <span className="badge-count" aria-hidden>
          {badge(unread)}
        </span>
      )}
    </a>
  )
}
