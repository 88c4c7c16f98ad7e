import { useQueries } from '@tanstack/react-query'
import { facetsQuery } from '../api/queries'
import { counted, labelOf, nouns } from '../datasets'
import { useSearch } from './context'
import { phrase } from './sentence'
import { bodyOf, cleared, withCondition, type SearchState } from './state'

/** NoMatch offers a similar text, and says which condition to give up and what that would find. */
export function NoMatch({ didYouMean }: { didYouMean: string | undefined }) {
  const search = useSearch()
  const { workspace, state, kindOf, change } = search
  const relaxed: { text: string; state: SearchState }[] = Object.entries(state.conditions)
    .slice(0, 8)
    .map(([key, c]) => ({
      text: `${labelOf(key)} ${phrase(search, key, c)}`,
      state: withCondition(state, key, undefined),
    }))
  if (state.query) relaxed.unshift({ text: `“${state.query}”`, state: { ...state, query: '' } })
  const counts = useQueries({
    queries: relaxed.map((r) => facetsQuery(workspace.id, r.state.dataset, bodyOf(r.state, kindOf), [])),
  })
  const counting = counts.some((c) => c.isPending)
  const found = relaxed
    .map((r, i) => ({ ...r, count: counts[i]?.data?.count ?? 0 }))
    .filter((r) => r.count > 0)
    .sort((a, b) => b.count - a.count)
  return (
    <div className="notice">
      <h2>No {nouns[state.dataset].many} match</h2>
      {state.query && !didYouMean && <p>A search finds whole words, in any order.</p>}
      {didYouMean && (
        <p>
          Did you mean{' '}
          <button className="link guess" onClick={() => change({ ...state, query: didYouMean })}>
            {didYouMean}
          </button>
          ?
        </p>
      )}
      {counting ? (
        <p>Counting what would match without one of the conditions…</p>
      ) : found.length > 0 ? (
        <>
          <p>Give up one condition:</p>
          <ul className="relax">
            {found.map((r) => (
              <li key={r.text}>
                <button className="button" onClick={() => change(r.state)}>
                  Without {r.text}
                  <span className="count">{counted(r.count, state.dataset)}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <>
          <p>No single condition is to blame.</p>
          <button className="button" onClick={() => change(cleared(state))}>
            Clear all
          </button>
        </>
      )}
    </div>
  )
}
