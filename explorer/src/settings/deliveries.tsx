import { useMutation, useQuery } from '@tanstack/react-query'
import { deliveriesQuery, deliveriesShown, replayDelivery, type Webhook } from '../api/webhooks'
import { formatMoment } from '../format'
import { Notice } from '../ui/notice'
import { outcome } from './webhook-events'

const states = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' }

/** Deliveries is the end of the log of a webhook. */
export function Deliveries({ workspace, hook }: { workspace: string; hook: Webhook }) {
  const log = useQuery(deliveriesQuery(workspace, hook.id))
  const replay = useMutation(replayDelivery(workspace))
  if (log.isPending) return <div className="skeleton" style={{ height: 96 }} />
  if (log.error) return <Notice error={log.error} retry={() => void log.refetch()} />
  if (log.data.length === 0) return <p className="quiet">Nothing was delivered in the last 30 days.</p>
  return (
    <>
      {replay.error && <Notice error={replay.error} refused="It is not delivered again" />}
      <ol className="deliveries" aria-label="Deliveries, the newest first">
        {log.data.map((d) => (
          <li key={d.id}>
            <span className="who">
              <b>{d.event}</b>
              <span>
                {formatMoment(new Date(d.created_at))}, {outcome(d)}
              </span>
            </span>
            <span className={d.status === 'failed' ? 'badge problem' : 'badge'}>{states[d.status]}</span>
            <button
              className="button"
              aria-label={`Deliver ${d.event} of ${formatMoment(new Date(d.created_at))} again`}
              disabled={d.status === 'pending' || !hook.enabled || replay.isPending}
              onClick={() => replay.mutate({ id: hook.id, deliveryId: d.id })}
            >
              Replay
            </button>
          </li>
        ))}
      </ol>
      {log.data.length === deliveriesShown && <p className="quiet">The newest {deliveriesShown} are shown.</p>}
    </>
  )
}
