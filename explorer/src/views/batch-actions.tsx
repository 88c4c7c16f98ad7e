import type { ReactNode } from 'react'
import { formatNumber } from '../format'
import type { Batch } from './use-batch'

interface Props {
  batch: Batch
  /** The ids of records that a restart would do. */
  left: string[]
  again: (() => void) | undefined
  done: () => void
  /** Further actions at the end. */
  children?: ReactNode
}

/** BatchActions stop a batch, or restart it for the records that failed and leave it. */
export function BatchActions({ batch, left, again, done, children }: Props) {
  return (
    <div className="actions">
      {batch.running ? (
        <button className="button" onClick={batch.stop}>
          Stop
        </button>
      ) : (
        <>
          {again && left.length > 0 && (
            <button className="button" onClick={again}>
              Try {formatNumber(left.length)} again
            </button>
          )}
          {children}
          <button className="button primary" autoFocus onClick={done}>
            Done
          </button>
        </>
      )}
    </div>
  )
}
