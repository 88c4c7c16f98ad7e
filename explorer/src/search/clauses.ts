import { labelOf } from '../datasets'
import { placeName } from '../source'
import { onlyOf } from './conditions'
import type { Search } from './context'
import { allOf, excluding, phrase } from './phrases'
import { withConditionsAt, type GroupList, type Page, type Scope } from './scope'
import { withCondition, type SearchState } from './state'

/** Clause is a part of the sentence that describes a search. */
export interface Clause {
  id: string
  /** The word before it, after "where" and "and". */
  word?: 'either' | 'or' | 'not'
  field?: string
  label: string
  /** The page of the builder that changes it. */
  page: Page
  without: SearchState
}

/** clausesOf lists the clauses of a search, but not its text. */
export function clausesOf(search: Pick<Search, 'kindOf' | 'valueLabel' | 'state'>): Clause[] {
  const { state } = search
  const clauses: Clause[] = Object.entries(state.conditions).map(([key, c]) => ({
    id: key,
    label: phrase(search, key, c),
    without: withCondition(state, key, undefined),
    ...(c.kind === 'related'
      ? { page: { kind: 'related', scope: { relation: key } } }
      : { field: labelOf(key), page: { kind: 'field', scope: {}, key } }),
  }))
  const groups = (of: GroupList) =>
    state[of]?.forEach((group, at) => {
      const scope: Scope = { group: { of, at } }
      const clause = { id: `${of} ${at}`, without: withConditionsAt(state, scope, {}) }
      const [key, c] = onlyOf(group) ?? []
      if (of === 'none' && key && c?.kind === 'values') {
        const page: Page = { kind: 'field', scope, key, alone: true }
        clauses.push({ ...clause, field: labelOf(key), label: excluding(search, key, c), page })
        return
      }
      const several = of === 'any' && (state.any?.length ?? 0) > 1
      const word = of === 'none' ? 'not' : at > 0 ? 'or' : several ? 'either' : undefined
      clauses.push({ ...clause, ...(word ? { word } : {}), label: allOf(search, group), page: { kind: 'groups', of } })
    })
  groups('any')
  groups('none')
  return clauses
}

/** sentenceOf describes a search in one line, without its results: "with “garage” where Stage is Filed". */
export function sentenceOf(search: Pick<Search, 'kindOf' | 'valueLabel' | 'state'>): string {
  const { query, source } = search.state
  const clauses = clausesOf(search).map(({ word, field, label }, i) =>
    [word === 'or' ? word : i === 0 ? 'where' : 'and', word === 'or' ? '' : word, field, label]
      .filter(Boolean)
      .join(' '),
  )
  return [placeName(source), query && `with “${query}”`, ...clauses].filter(Boolean).join(' ')
}
