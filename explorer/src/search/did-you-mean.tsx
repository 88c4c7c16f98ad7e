import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { facetsQuery, type Counts, type FacetRequest } from '../api/queries'
import type { Search } from './context'
import { bodyOf, isEmpty, type SearchState } from './state'

interface Suggested {
  /** The effective search: the typed text, or the suggestion if that finds nothing. */
  search: Search
  /** The suggestion, with the words that no record has, if it is the effective search. */
  suggestion: Pick<Counts, 'didYouMean' | 'missing'> | undefined
  /** Searches for exactly the typed text. */
  searchExactly: () => void
}

/**
 * useDidYouMean searches for a similar text if the typed one finds nothing. The address and the box
 * have the typed text until the user chooses another.
 */
export function useDidYouMean(typed: Search, requests: FacetRequest[]): Suggested {
  const { workspace, state, body, kindOf } = typed
  const [exactQuery, setExactQuery] = useState<string>()
  const { data, isPlaceholderData } = useQuery(facetsQuery(workspace.id, state.dataset, body, requests))
  const found = data && !isPlaceholderData && data.count === 0 && exactQuery !== state.query ? data : undefined
  const text = found?.didYouMean
  const search = useMemo(() => {
    if (!text) return typed
    const other = { ...state, query: text }
    return { ...typed, state: other, body: bodyOf(other, kindOf) }
  }, [typed, state, kindOf, text])
  return { search, suggestion: text ? found : undefined, searchExactly: () => setExactQuery(state.query) }
}

/** DidYouMean says that the results are not for the typed text. */
export function DidYouMean({
  typed: { query: typed, ...others },
  suggestion,
  searchExactly,
}: {
  typed: SearchState
  suggestion: NonNullable<Suggested['suggestion']>
  searchExactly: () => void
}) {
  const { didYouMean, missing = [] } = suggestion
  return (
    <p className="did-you-mean" role="status">
      Showing results for <b>{didYouMean}</b>; nothing for “{typed}”
      {missing.length > 0 && (
        <>
          : no record {isEmpty({ ...others, query: '' }) ? '' : 'that meets the other conditions '}has{' '}
          {missing.join(', ')}
        </>
      )}
      .{' '}
      <button className="link" onClick={searchExactly}>
        Search only for “{typed}”
      </button>
    </p>
  )
}
