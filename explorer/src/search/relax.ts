import { nouns, relationOf } from '../datasets'
import { clausesOf } from './clauses'
import type { Search } from './context'
import { clause } from './phrases'
import { conditionsAt, datasetAt, withConditionAt } from './scope'
import type { SearchState } from './state'

/** The maximum number of ways that are counted: each needs a free request. */
const maxRelaxations = 12

/** The maximum number of words of a text that are dropped one at a time. */
const maxWords = 4

/**
 * relaxationsOf lists what a search can drop, and the search without it: its text, one word of
 * it, a clause, all alternatives, or one of several conditions on a related record.
 */
export function relaxationsOf(search: Pick<Search, 'kindOf' | 'valueLabel' | 'state'>) {
  const { state } = search
  const relaxations: { text: string; state: SearchState }[] = []
  if (state.query) relaxations.push({ text: `“${state.query}”`, state: { ...state, query: '' } })
  const words = state.query.includes('"') ? [] : [...new Set(state.query.split(/\s+/).filter(Boolean))]
  if (words.length > 1 && words.length <= maxWords) {
    words.forEach((word, i) =>
      relaxations.push({ text: `“${word}”`, state: { ...state, query: words.filter((_, at) => at !== i).join(' ') } }),
    )
  }
  for (const c of clausesOf(search)) {
    // Dropping an alternative finds less.
    if (c.page.kind === 'groups' && c.page.of === 'any') continue
    relaxations.push({ text: [c.word && 'excluding', c.field, c.label].filter(Boolean).join(' '), state: c.without })
    if (c.page.kind !== 'related') continue
    const { scope } = c.page
    const conditions = Object.entries(conditionsAt(state, scope))
    // Dropping a condition of "has no" also finds less.
    if (conditions.length < 2 || !relationOf(scope.relation)?.has) continue
    for (const [key, inner] of conditions) {
      const dataset = datasetAt(state, scope)
      relaxations.push({
        text: `${clause(search, key, inner, dataset)}, of the ${nouns[dataset].one}`,
        state: withConditionAt(state, scope, key, undefined),
      })
    }
  }
  if (state.any) {
    const { any: _, ...rest } = state
    relaxations.push({ text: 'the alternatives', state: rest })
  }
  return relaxations.slice(0, maxRelaxations)
}
