import { X } from 'lucide-react'
import { credits, formatNumber } from '../format'
import { fieldOf, tableOf } from '../table/fields'
import { orderOf } from '../table/sort'
import { useSearch } from './context'
import type { PreviousRows } from './use-rows'

interface Props {
  previous: PreviousRows
  price: number
  /** The price is not known yet, or the rows are loading. */
  busy: boolean
  load: () => void
}

/** PreviousRowsBar says that the visible rows are of the previous search, and shows the price of new ones. */
export function PreviousRowsBar({ previous, price, busy, load }: Props) {
  const { state, body } = useSearch()
  const { rows, previousCount, of } = previous
  const sort = orderOf(state)
  const reordered = JSON.stringify(of.body) === JSON.stringify(body)
  const label = sort && (fieldOf(tableOf(state), sort.field)?.label ?? sort.field)
  const many = (n: number) => `${formatNumber(n)} ${n === 1 ? 'row' : 'rows'}`
  const by = reordered
    ? label
      ? ` by ${label}, ${sort?.order === 'desc' ? 'highest' : 'lowest'} first`
      : ' by match'
    : ''
  return (
    <section className="previous-rows" aria-label="Rows of the search before">
      <p role="status">
        {reordered
          ? `These ${many(rows.length)} are in the order of before.`
          : previousCount
            ? `${formatNumber(rows.length)} of the ${many(previousCount)} that were loaded match.`
            : `These ${many(rows.length)} are of the search before.`}
      </p>
      <button className="button primary" disabled={busy} onClick={load}>
        Show {many(price)}
        {by} · {credits(price)}
      </button>
      <button
        className="icon-button"
        aria-label="Put these rows away"
        title="Put these rows away"
        onClick={previous.drop}
      >
        <X size={15} aria-hidden />
      </button>
    </section>
  )
}
