import { useState } from 'react'
import { formatMoment, formatNumber } from '../format'

/** Sizes of the picture in its own units. */
const height = 120
const step = 24
const gap = 2

/** HourBars draws the credits of each hour. The table below it has the same data. */
export function HourBars({ hours }: { hours: { from: Date; credits: number }[] }) {
  const [at, setAt] = useState<number>()
  const most = Math.max(1, ...hours.map((h) => h.credits))
  const best = hours.find((h) => h.credits === most)
  const hovered = at === undefined ? undefined : hours[at]
  const first = hours[0]
  return (
    <div className="hours">
      <svg
        role="img"
        aria-label={`Credits by hour. Most: ${formatNumber(most)} from ${best ? formatMoment(best.from) : ''}`}
        viewBox={`0 0 ${hours.length * step} ${height}`}
        preserveAspectRatio="none"
        onPointerLeave={() => setAt(undefined)}
      >
        {hours.map((h, i) => {
          const tall = h.credits === 0 ? 0 : Math.max(2, (h.credits / most) * height)
          return (
            <g key={+h.from} onPointerEnter={() => setAt(i)}>
              <rect className="area" x={i * step} y={0} width={step} height={height} />
              <rect className="bar" x={i * step + gap} y={height - tall} width={step - 2 * gap} height={tall} />
            </g>
          )
        })}
      </svg>
      <div className="axis" aria-hidden="true">
        {hovered ? (
          <span className="hovered">
            {formatMoment(hovered.from)} <b>{formatNumber(hovered.credits)}</b>
          </span>
        ) : (
          <>
            <span>{first ? formatMoment(first.from) : ''}</span>
            <span>now</span>
          </>
        )}
      </div>
    </div>
  )
}
