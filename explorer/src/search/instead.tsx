import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { facetsQuery, type Counts, type FacetRequest } from '../api/queries'
import type { Search } from './context'
import { bodyOf, isEmpty, type SearchState } from './state'

interface Offered {
  /** The effective search: the typed text, or the suggestion if that finds nothing. */
  search: Search
  /** The suggestion, with the words that no record has, if it is the effective search. */
  offered: Pick<Counts, 'didYouMean' | 'missing'> | undefined
  /** Searches for exactly the typed text. */
  refuse: () => void
}

/**
 * useOffered searches for a similar text if the typed one finds nothing. The address and the box
 * have the typed text until the user chooses another.
 */
export function useOffered(typed: Search, requests: FacetRequest[]): Offered {
  const { workspace, state, body, kindOf } = typed
  const [refused, setRefused] = useState<string>()
  const { data, isPlaceholderData } = useQuery(facetsQuery(workspace.id, state.dataset, body, requests))
  const found = data && !isPlaceholderData && data.count === 0 && refused !== state.query ? data : undefined
  const text = found?.didYouMean
  const search = useMemo(() => {
    if (!text) return typed
    const other = { ...state, query: text }
    return { ...typed, state: other, body: bodyOf(other, kindOf) }
  }, [typed, state, kindOf, text])
  return { search, offered: text ? found : undefined, refuse: () => setRefused(state.query) }
}

/** Instead says that the results are not for the typed text. */
export function Instead({
  typed: { query: typed, ...others },
  offered,
  refuse,
}: {
  typed: SearchState
  offered: NonNullable<Offered['offered']>
  refuse: () => void
}) {
  const { didYouMean, missing = [] } = offered
  return (
    <p className="instead" role="status">
      Showing results for <b>{didYouMean}</b>; nothing for “{typed}”
      {missing.length > 0 && (
        <>
          : no record {isEmpty({ ...others, query: '' }) ? '' : 'that meets the other conditions '}has{' '}
          {missing.join(', ')}
        </>
      )}
      .{' '}
      <button className="link" onClick={refuse}>
        Search only for “{typed}”
      </button>
    </p>
  )
}
