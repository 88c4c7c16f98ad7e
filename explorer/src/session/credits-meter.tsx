import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { creditListeners } from '../api/client'
import { creditsQuery } from '../api/queries'
import { credits, formatNumber, formatShort } from '../format'

/** CreditsMeter shows the credits that are left, and for a moment what an action cost. */
export function CreditsMeter() {
  const { data } = useQuery(creditsQuery)
  const [cost, setCost] = useState<{ n: number; at: number }>()
  useEffect(() => {
    const hear = (_: unknown, charged: number) => {
      if (charged > 0) setCost({ n: charged, at: Date.now() })
    }
    creditListeners.add(hear)
    return () => {
      creditListeners.delete(hear)
    }
  }, [])
  if (!data) return <div className="credits skeleton" />
  const share = Math.min(1, data.used / data.ceiling)
  return (
    <div
      className="credits"
      title={`${formatNumber(data.used)} of ${credits(data.ceiling)} used in the last ${data.window_hours} hours. Each returns a day after its use.`}
    >
      <span>
        <b>{data.remaining < 100_000 ? formatNumber(data.remaining) : formatShort(data.remaining)}</b>
        <span className="wide"> credits left</span>
      </span>
      <meter className="sr" min={0} max={data.ceiling} value={data.used} aria-label="Credits used" />
      <span className="gauge" aria-hidden="true">
        <span style={{ width: `${Math.max(share * 100, data.used > 0 ? 2 : 0)}%` }} />
      </span>
      {cost && (
        <span className="cost" key={cost.at} role="status">
          −{formatNumber(cost.n)}
        </span>
      )}
    </div>
  )
}
