import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { creditListeners } from '../api/client'
import { creditsQuery } from '../api/queries'
import { formatNumber, formatShort } from '../format'
import { CreditsMenu } from './credits-menu'

/** How long the cost of an action is shown, in milliseconds. */
const costDuration = 5000

/**
 * CreditsMeter shows the remaining credits, and for a moment the cost of an action. It opens the
 * list of all costs.
 */
export function CreditsMeter() {
  const { data } = useQuery(creditsQuery)
  const [cost, setCost] = useState<number>()
  const id = useId()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const showCost = (_: unknown, charged: number) => {
      if (charged === 0) return
      setCost(charged)
      clearTimeout(timer)
      timer = setTimeout(() => setCost(undefined), costDuration)
    }
    creditListeners.add(showCost)
    return () => {
      clearTimeout(timer)
      creditListeners.delete(showCost)
    }
  }, [])
  if (!data) return <div className="credits skeleton" />
  const share = Math.min(1, data.used / data.ceiling)
  return (
    <div className="credits">
      <button popoverTarget={id}>
        <span>
          <b>{data.remaining < 100_000 ? formatNumber(data.remaining) : formatShort(data.remaining)}</b>
          <span className="wide"> credits left</span>
          <span className="sr">, what was used</span>
        </span>
        <span className="gauge" aria-hidden="true">
          <span style={{ width: `${Math.max(share * 100, data.used > 0 ? 2 : 0)}%` }} />
        </span>
      </button>
      <meter className="sr" min={0} max={data.ceiling} value={data.used} aria-label="Credits used" />
      {cost && (
        <span className="cost" role="status">
          −{formatNumber(cost)}
        </span>
      )}
      <CreditsMenu id={id} window={data} />
    </div>
  )
}
