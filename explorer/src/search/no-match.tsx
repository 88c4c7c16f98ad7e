import { useQueries } from '@tanstack/react-query'
import { type Counts, facetsQuery } from '../api/queries'
import { counted, nouns } from '../datasets'
import { useSearch } from './context'
import { relaxationsOf } from './relax'
import { bodyOf, cleared } from './state'

/**
 * NoMatch names the words that no record has, suggests a similar text, and shows which conditions
 * to drop and the counts without them.
 */
export function NoMatch({ nothing }: { nothing: Counts | undefined }) {
  const { didYouMean, missing = [] } = nothing ?? {}
  const search = useSearch()
  const { workspace, state, kindOf, change } = search
  const relaxed = relaxationsOf(search)
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
      {missing.length > 0 && (
        <p>
          None that meets the other conditions has <b>{missing.join(', ')}</b>, in any form.
        </p>
      )}
      {didYouMean && (
        <p>
          Did you mean{' '}
          <button className="link suggested-query" onClick={() => change({ ...state, query: didYouMean })}>
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
