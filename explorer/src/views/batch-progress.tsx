import './dialogs.css'
import { useQueryClient } from '@tanstack/react-query'
import { isAbort, type Outcome } from '../api/batch'
import { findRow } from '../api/queries'
import { counted, type Dataset } from '../datasets'
import { formatNumber } from '../format'
import { nameOf } from '../search/columns'
import { Notice } from '../ui/notice'
import type { Batch } from './use-batch'

interface Props {
  workspace: string
  dataset: Dataset
  batch: Batch
  /** The text for completed records: "are in the list now". */
  done: string
}

/** The meaning of each code, for people. */
const reasons: Record<string, string> = {
  record_not_found: 'no longer in the dataset',
  not_found: 'no longer in the dataset',
  record_not_visible: 'not visible to your workspace: no project names them',
  view_full: 'the list is full, it takes 100,000 records',
  limit_reached: 'the workspace has reached its limit of new records for today',
  unavailable: 'Atlas was busy',
  internal: 'Atlas has failed',
}

/** How many of the failed records are named. */
const maxNamed = 50

/** BatchProgress shows the progress of a batch, and then the results of its records. */
export function BatchProgress({ workspace, dataset, batch, done }: Props) {
  const client = useQueryClient()
  const { outcomes, total, running, error } = batch
  const good = outcomes.filter((o) => o.status === 'ok').length
  const failed = new Map<string, Outcome[]>()
  for (const o of outcomes) {
    if (o.status === 'ok') continue
    const reason = reasons[o.status] ?? o.message ?? o.status
    failed.set(reason, [...(failed.get(reason) ?? []), o])
  }
  const label = (id: string) => {
    const row = findRow(client, workspace, dataset, id, () => true)
    return row ? nameOf(row) : id
  }
  return (
    <div className="batch" aria-live="polite">
      <progress max={total} value={outcomes.length} aria-label="Records done" hidden={!running} />
      {running ? (
        <p>
          {formatNumber(outcomes.length)} of {counted(total, dataset)} done
        </p>
      ) : (
        <p>
          <b>{counted(good, dataset)}</b> {done}.
        </p>
      )}
      {!running && total > outcomes.length && (
        <p>{counted(total - outcomes.length, dataset)} were not tried. What was done stays done.</p>
      )}
      {!running &&
        [...failed].map(([reason, some]) => (
          <details key={reason} open={some.length <= 5}>
            <summary>
              <span className="problem">{counted(some.length, dataset)}:</span> {reason}
            </summary>
            <ul>
              {some.slice(0, maxNamed).map((o) => (
                <li key={o.id}>{label(o.id)}</li>
              ))}
              {some.length > maxNamed && <li className="quiet">and {formatNumber(some.length - maxNamed)} more</li>}
            </ul>
          </details>
        ))}
      {error && !isAbort(error) && <Notice error={error} />}
    </div>
  )
}
