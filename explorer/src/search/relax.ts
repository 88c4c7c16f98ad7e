import { nouns, relationOf } from '../datasets'
import { clausesOf } from './clauses'
import type { Search } from './context'
import { clause } from './phrases'
import { conditionsAt, datasetAt, withConditionAt } from './scope'
import type { SearchState } from './state'

/** How many ways are counted: each takes a request of those that are free. */
const most = 12

/** Words of a text that are given up one at a time, if it has no more. */
const mostWords = 4

/**
 * relaxationsOf lists what a search can give up, and the search without it: its text, one
 * word of it, a clause, all alternatives, or one of several conditions on a related record.
 */
export function relaxationsOf(search: Pick<Search, 'kindOf' | 'valueLabel' | 'state'>) {
  const { state } = search
  const ways: { text: string; state: SearchState }[] = []
  if (state.query) ways.push({ text: `“${state.query}”`, state: { ...state, query: '' } })
  const words = state.query.includes('"') ? [] : [...new Set(state.query.split(/\s+/).filter(Boolean))]
  if (words.length > 1 && words.length <= mostWords) {
    words.forEach((word, i) =>
      ways.push({ text: `“${word}”`, state: { ...state, query: words.filter((_, at) => at !== i).join(' ') } }),
    )
  }
  for (const c of clausesOf(search)) {
    // An alternative less finds less.
    if (c.page.kind === 'groups' && c.page.of === 'any') continue
    ways.push({ text: [c.word && 'excluding', c.field, c.label].filter(Boolean).join(' '), state: c.without })
    if (c.page.kind !== 'related') continue
    const { scope } = c.page
    const conditions = Object.entries(conditionsAt(state, scope))
    // Of "has no" a condition less finds less too.
    if (conditions.length < 2 || !relationOf(scope.relation)?.has) continue
    for (const [key, inner] of conditions) {
      const dataset = datasetAt(state, scope)
      ways.push({
        text: `${clause(search, key, inner, dataset)}, of the ${nouns[dataset].one}`,
        state: withConditionAt(state, scope, key, undefined),
      })
    }
  }
  if (state.any) {
    const { any: _, ...rest } = state
    ways.push({ text: 'the alternatives', state: rest })
  }
  return ways.slice(0, most)
}
