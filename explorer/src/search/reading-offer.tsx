import { useQuery } from '@tanstack/react-query'
import { facetsQuery, readingQuery } from '../api/queries'
import { counted } from '../datasets'
import type { Search } from './context'
import { withReading } from './reading'
import { bodyOf, isEmpty, type SearchState } from './state'

export interface Offer {
  sentence: string
  /** The words that stay text. */
  left: string
  count: number
  next: SearchState
}

/** useReading offers the conditions that the text says, if records meet them. Nothing is searched for before they are taken. */
export function useReading({ workspace, state, kindOf }: Search): Offer | undefined {
  const { data: reading } = useQuery(readingQuery(workspace.id, state.dataset, state.source, state.query))
  const read = reading && reading.conditions.length > 0 ? reading : undefined
  const next = read && withReading(state, read, kindOf)
  // The service counted the text alone, in all of Data or the book.
  const alone = state.source?.kind !== 'view' && isEmpty({ ...state, query: '' })
  const { data: counts, isPlaceholderData } = useQuery({
    ...facetsQuery(workspace.id, state.dataset, bodyOf(next ?? state, kindOf), []),
    enabled: next !== undefined && !alone,
  })
  const count = alone ? read?.count : isPlaceholderData ? undefined : counts?.count
  if (!read || !next || !count) return undefined
  return { sentence: read.sentence, left: read.query ?? '', count, next }
}

/** ReadingOffer says what a text could be read as, to be taken. */
export function ReadingOffer({ offer, take }: { offer: Offer; take: () => void }) {
  return (
    <p className="instead reading" role="status">
      <button className="offer" aria-keyshortcuts="ArrowRight" onClick={take}>
        <span>
          <bdi>{offer.sentence}</bdi>
          {offer.left && (
            <>
              , with <bdi>“{offer.left}”</bdi>
            </>
          )}{' '}
          · {counted(offer.count, offer.next.dataset)}
        </span>{' '}
        <kbd aria-hidden="true">→</kbd>
      </button>
    </p>
  )
}
