import { useQuery } from '@tanstack/react-query'
import { facetsQuery } from '../api/queries'
import { nouns, relationOf } from '../datasets'
import { formatNumber } from '../format'
import { partsOf } from '../search/conditions'
import { useSearch } from '../search/context'
import { conditionsAt, withConditionAt, type Page } from '../search/scope'
import type { PageProps } from './page'
import { Rows } from './rows'

/** Related edits the conditions on one related record, or that none may meet them. */
export function Related({ page: { scope }, change, open, replace }: PageProps<Extract<Page, { kind: 'related' }>>) {
  const { workspace, state, kindOf } = useSearch()
  const { relation: key, ...around } = scope
  const { dataset = state.dataset, has = true } = relationOf(key) ?? {}
  const conditions = conditionsAt(state, scope)
  const counts = useQuery(facetsQuery(workspace.id, dataset, partsOf(conditions, dataset, kindOf), []))
  const { one, many } = nouns[dataset]
  const other = key.replace(/^[a-z]+/, has ? 'without' : 'has')
  const turn = () => {
    const without = withConditionAt(state, around, key, undefined)
    if (change(withConditionAt(without, around, other, { kind: 'related', conditions })))
      replace({ kind: 'related', scope: { ...around, relation: other } })
  }
  // Both can be combined, so neither replaces the other.
  const taken = other in conditionsAt(state, around)
  const some = Object.keys(conditions).length > 0
  return (
    <>
      <div className="mode">
        <select aria-label="Relation" value={key} disabled={taken} onChange={turn}>
          {[key, other].sort().map((k) => (
            <option key={k} value={k}>
              {relationOf(k)?.has ? `has at least one ${one}` : `has no ${one}`}
            </option>
          ))}
        </select>
        <span className="word">{some ? 'where' : ''}</span>
      </div>
      <Rows scope={scope} change={change} open={open} />
      <p className="quiet">
        {some ? `All conditions are met by the same ${one}.` : `Without a condition any ${one} counts.`}
        {counts.data &&
          !counts.isPlaceholderData &&
          some &&
          ` ${formatNumber(counts.data.count)} of all ${many} meet them.`}
      </p>
    </>
  )
}
