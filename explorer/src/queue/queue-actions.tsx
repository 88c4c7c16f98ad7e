import { pageSize } from '../api/queries'
import { counted } from '../datasets'
import { credits } from '../format'
import type { Queue } from './use-queue'

/** QueueActions read on, and change all signals that are shown. */
export function QueueActions({ queue, action }: { queue: Queue; action: string }) {
  const { query, shown, left, price, load, reload, change } = queue
  return (
    <div className="actions">
      {!query.error && (query.data ? query.hasNextPage : left > 0) && (
        <button className="button primary" disabled={query.isFetching} onClick={load}>
          Show {counted(price, 'signals')} · {credits(price)}
        </button>
      )}
      {shown.length > 1 && (
        <button className="button" onClick={() => void change(shown.map(({ id }) => id))}>
          {action} the {shown.length} shown
        </button>
      )}
      {query.data && !query.hasNextPage && left > 0 && !query.isFetching && (
        <button className="button primary" onClick={reload}>
          Read the queue again · up to {credits(pageSize)}
        </button>
      )}
    </div>
  )
}
