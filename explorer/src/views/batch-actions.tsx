import type { ReactNode } from 'react'
import { retryableIds } from '../api/batch'
import { formatNumber } from '../format'
import type { Batch } from './use-batch'

interface Props {
  batch: Batch
  /** All records. */
  ids: string[]
  retry: (left: string[]) => void
  done: () => void
  /** Further actions at the end. */
  children?: ReactNode
}

/** BatchActions stop a batch, or restart it for the records that are left, and leave it. */
export function BatchActions({ batch, ids, retry, done, children }: Props) {
  const left = retryableIds(ids, batch.outcomes)
  return (
    <div className="actions">
      {batch.running ? (
        <button className="button" onClick={batch.stop}>
          Stop
        </button>
      ) : (
        <>
          {left.length > 0 && (
            <button className="button" onClick={() => retry(left)}>
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
