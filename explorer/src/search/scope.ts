import type { Body } from '../api/body'
import { relationOf, type Dataset } from '../datasets'
import { onlyOf, partsOf, type Condition, type Conditions, type KindOf } from './conditions'
import { bodyOf, withGroups, type SearchState } from './state'

export type GroupList = 'any' | 'none'

/** Scope is where conditions stand: in the search itself, in a group, on a related record. */
export interface Scope {
  /** An index after the last group is that of a new one. */
  group?: { of: GroupList; at: number }
  relation?: string
}

/** conditionsAt returns the conditions in a scope. */
export function conditionsAt(state: SearchState, { group, relation }: Scope): Conditions {
  const around = group ? (state[group.of]?.[group.at] ?? {}) : state.conditions
  if (!relation) return around
  const c = around[relation]
  return c?.kind === 'related' ? c.conditions : {}
}

/** withConditionsAt replaces the conditions in a scope. A group without conditions goes. */
export function withConditionsAt(state: SearchState, scope: Scope, conditions: Conditions): SearchState {
  const { group, relation } = scope
  if (relation) {
    const around = { ...scope }
    delete around.relation
    return withConditionsAt(state, around, {
      ...conditionsAt(state, around),
      [relation]: { kind: 'related', conditions },
    })
  }
  if (!group) return { ...state, conditions }
  const groups = [...(state[group.of] ?? [])]
  if (Object.keys(conditions).length > 0) groups[group.at] = conditions
  else groups.splice(group.at, 1)
  return withGroups(state, group.of, groups)
}

/** withConditionAt sets or removes the condition on a field or relation in a scope. */
export function withConditionAt(
  state: SearchState,
  scope: Scope,
  key: string,
  condition: Condition | undefined,
): SearchState {
  const all = conditionsAt(state, scope)
  const { [key]: _, ...others } = all
  // A changed condition stays at its position in the sentence.
  return withConditionsAt(state, scope, condition ? { ...all, [key]: condition } : others)
}

/** datasetAt is the dataset whose fields the conditions in a scope have. */
export const datasetAt = (state: SearchState, { relation }: Scope): Dataset =>
  (relation && relationOf(relation)?.dataset) || state.dataset

/** exclusionOf returns the scope of a group that only excludes values of a field. */
export function exclusionOf(state: SearchState, key: string): Scope | undefined {
  const at = state.none?.findIndex((group) => {
    const [only, c] = onlyOf(group) ?? []
    return only === key && c?.kind === 'values'
  })
  return at === undefined || at < 0 ? undefined : { group: { of: 'none', at } }
}

/** withExclusion excludes a field's values instead of requiring them; without values neither. */
export function withExclusion(state: SearchState, key: string, values: string[], exact = false): SearchState {
  const included = withConditionAt(state, {}, key, undefined)
  const scope = exclusionOf(included, key) ?? { group: { of: 'none', at: included.none?.length ?? 0 } }
  return withConditionAt(
    included,
    scope,
    key,
    values.length > 0 ? { kind: 'values', values, ...(exact ? { exact } : {}) } : undefined,
  )
}

/** bodyWithout is what a count of a field's values in a scope counts: all but the field's own condition. */
export function bodyWithout(state: SearchState, scope: Scope, key: string, kindOf: KindOf): Body {
  const without = (conditions: Conditions) => {
    const { [key]: _, ...others } = conditions
    return others
  }
  const here = without(conditionsAt(state, scope))
  if (scope.relation) return partsOf(here, datasetAt(state, scope), kindOf)
  if (!scope.group) return bodyOf({ ...state, conditions: here }, kindOf)
  const { dataset, source, query, conditions } = state
  return bodyOf(
    { dataset, ...(source ? { source } : {}), query, conditions: { ...without(conditions), ...here } },
    kindOf,
  )
}

/** Page is the page of the builder. */
export type Page =
  /** The choice of a field or relation for a new condition. */
  | { kind: 'pick'; scope: Scope }
  /** The condition on a field. Alone: the group of the scope is the exclusion of its values. */
  | { kind: 'field'; scope: Scope; key: string; alone?: boolean }
  | { kind: 'related'; scope: Scope & { relation: string } }
  | { kind: 'groups'; of: GroupList }
