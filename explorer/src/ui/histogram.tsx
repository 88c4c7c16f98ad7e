import './histogram.css'
import { useState } from 'react'
import { formatNumber } from '../format'

export interface Bar {
  /** The ends of a range that equals the bar; open if absent. */
  from?: string
  to?: string
  count: number
  label: string
}

interface Props {
  label: string
  bars: Bar[]
  /** The chosen range. */
  from?: string | undefined
  to?: string | undefined
  /** Ends are numbers; otherwise days. */
  numeric?: boolean
  tall?: boolean
  onBrush: (first: number, last: number) => void
}

/** Histogram draws bars. A click or a drag over them chooses a range. */
export function Histogram({ label, bars, from, to, numeric, tall, onBrush }: Props) {
  const [drag, setDrag] = useState<[number, number]>()
  const [at, setAt] = useState<number>()
  const most = Math.max(1, ...bars.map((b) => b.count))
  const best = bars.find((b) => b.count === most)
  const chosen = from !== undefined || to !== undefined
  const value = (text: string) => (numeric ? Number(text) : text)
  const inside = (b: Bar, i: number) => {
    if (drag) return i >= Math.min(...drag) && i <= Math.max(...drag)
    if (!chosen) return true
    const above = from === undefined || b.to === undefined || value(b.to) >= value(from)
    const below = to === undefined || b.from === undefined || value(b.from) <= value(to)
    return above && below
  }
  const indexOf = (e: React.PointerEvent) => {
    const box = e.currentTarget.getBoundingClientRect()
    const i = Math.floor(((e.clientX - box.left) / box.width) * bars.length)
    return Math.min(bars.length - 1, Math.max(0, i))
  }
  const first = bars[0]
  const last = bars.at(-1)
  if (!first || !last || bars.every((b) => b.count === 0)) return <p className="quiet">No known values</p>
  if (first === last) {
    return (
      <p className="quiet">
        {first.label}: all {formatNumber(first.count)}
      </p>
    )
  }
  const hovered = at === undefined ? undefined : bars[at]
  return (
    <div className={tall ? 'histogram tall' : 'histogram'}>
      <div
        className="bars"
        role="img"
        aria-label={`${label}: ${first.label} to ${last.label}. Most: ${formatNumber(most)} at ${best?.label ?? ''}`}
        onPointerDown={(e) => {
          if (e.button !== 0) return
          e.currentTarget.setPointerCapture(e.pointerId)
          const i = indexOf(e)
          setDrag([i, i])
        }}
        onPointerMove={(e) => {
          const i = indexOf(e)
          if (i !== at) setAt(i)
          if (drag && drag[1] !== i) setDrag([drag[0], i])
        }}
        onPointerLeave={() => setAt(undefined)}
        onPointerUp={() => {
          if (drag) onBrush(Math.min(...drag), Math.max(...drag))
          setDrag(undefined)
        }}
        onPointerCancel={() => setDrag(undefined)}
      >
        {bars.map((b, i) => (
          <div key={i} className={inside(b, i) ? 'bar' : 'bar out'}>
            <div style={{ height: b.count === 0 ? 0 : `max(2px, ${(b.count / most) * 100}%)` }} />
          </div>
        ))}
      </div>
      <div className="axis" aria-hidden="true">
        {hovered ? (
          <span className="hovered">
            {hovered.label} <b>{formatNumber(hovered.count)}</b>
          </span>
        ) : (
          <>
            <span>{first.label}</span>
            <span>{last.label}</span>
          </>
        )}
      </div>
    </div>
  )
}
