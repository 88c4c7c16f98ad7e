import './bell.css'
import { useQuery } from '@tanstack/react-query'
import { Bell as Icon } from 'lucide-react'
import { link, useAddress } from '../address'
import { queueCountQuery } from '../api/queue'
import { formatNumber } from '../format'
import { badge } from './state'

/** Bell leads to the queue of signals and says how many are unread. Counting is free; if it fails, the bell has no number. */
export function Bell({ workspace }: { workspace: string }) {
  const { data: unread = 0 } = useQuery({ ...queueCountQuery(workspace, {}), retry: false })
  const here = useAddress().path === '/queue'
  const label = unread > 0 ? `Signal queue, ${formatNumber(unread)} unread` : 'Signal queue'
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
