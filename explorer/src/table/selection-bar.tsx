import './selection-bar.css'
import { X } from 'lucide-react'
import { credits, formatNumber } from '../format'
import { actions } from './actions'
import { everything, nothing, type Picked, type Selection } from './selection'

interface Props {
  selection: Selection
  picked: Picked
  onPick: (next: Picked) => void
  /** How many rows are loaded, and how many match. */
  loaded: number
  total: number
  /** Reads all matching rows; busy while it does, and stop ends it. */
  readRest: () => void
  busy: boolean
  stop: () => void
}

/** SelectionBar shows how many rows are selected, and the actions on them. */
export function SelectionBar({ selection, picked, onPick, loaded, total, readRest, busy, stop }: Props) {
  const { count, ids } = selection
  const missing = count - ids.length
  return (
    <section className="selection" aria-label="Selected rows">
      <p role="status">
        <b>{formatNumber(count)}</b> selected
        {missing > 0 && <span className="quiet"> · {formatNumber(ids.length)} loaded</span>}
      </p>
      {!picked.all && ids.length === loaded && loaded < total && (
        <button
          className="link"
          title={`Selecting is free. The ${formatNumber(total - loaded)} rows that are not loaded cost a credit each when they are read.`}
          onClick={() => onPick(everything)}
        >
          Select all {formatNumber(total)} that match
        </button>
      )}
      {missing > 0 &&
        (busy ? (
          <button className="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button className="button" onClick={readRest}>
            Load the other {formatNumber(missing)} · {credits(total - loaded)}
          </button>
        ))}
      <span className="actions">
        {actions.map(({ key, action: Action }) => (
          <Action key={key} selection={selection} />
        ))}
        <button
          className="icon-button"
          aria-label="Select nothing"
          title="Select nothing (Esc)"
          onClick={() => onPick(nothing)}
        >
          <X size={15} aria-hidden />
        </button>
      </span>
    </section>
  )
}
