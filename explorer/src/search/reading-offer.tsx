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

/**
 * useReading suggests the conditions that a text means, if records meet them. Nothing is searched
 * before they are accepted.
 */
export function useReading({ workspace, state, kindOf }: Search): Offer | undefined {
  const { data: reading } = useQuery(readingQuery(workspace.id, state.dataset, state.source, state.query))
  const read = reading && reading.conditions.length > 0 ? reading : undefined
  const next = read && withReading(state, read, kindOf)
  // The service counted only the text, in all of Data or the book.
  const alone = state.source?.kind !== 'view' && isEmpty({ ...state, query: '' })
  const { data: counts, isPlaceholderData } = useQuery({
    ...facetsQuery(workspace.id, state.dataset, bodyOf(next ?? state, kindOf), []),
    enabled: next !== undefined && !alone,
  })
  const count = alone ? read?.count : isPlaceholderData ? undefined : counts?.count
  if (!read || !next || !count) return undefined
  return { sentence: read.sentence, left: read.query ?? '', count, next }
}

/** ReadingOffer shows the interpretation of a text, to be accepted. */
export function ReadingOffer({ offer, accept }: { offer: Offer; accept: () => void }) {
  return (
    <p className="did-you-mean reading" role="status">
      <button className="offer" aria-keyshortcuts="ArrowRight" onClick={accept}>
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
