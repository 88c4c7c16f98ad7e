import { useQueries } from '@tanstack/react-query'
import { facetsQuery } from '../api/queries'
import { counted, labelOf, nouns } from '../datasets'
import { useSearch } from './context'
import { phrase } from './sentence'
import { bodyOf, withCondition, type SearchState } from './state'

/** NoMatch says which condition to give up, and what that would find. */
export function NoMatch() {
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
  return (
    <div className="notice">
      <h2>No {nouns[state.dataset].many} match</h2>
      <p>{relaxed.length > 1 ? 'All conditions together are too many. Give one up:' : 'Give the condition up:'}</p>
      <ul className="relax">
        {relaxed.map((r, i) => {
          const n = counts[i]?.data?.count
          return (
            <li key={r.text}>
              <button className="button" disabled={n === 0} onClick={() => change(r.state)}>
                Without {r.text}
                <span className="count">{n === undefined ? '…' : counted(n, state.dataset)}</span>
              </button>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
