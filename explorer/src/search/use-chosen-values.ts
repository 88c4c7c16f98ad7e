import { useState } from 'react'
import { same } from './conditions'
import { useSearch } from './context'
import { conditionsAt, exclusionOf, withExclusion } from './scope'
import { isMixed, withCondition } from './state'

/** useChosenValues has the values of a field that the search includes or excludes, and chooses others. */
export function useChosenValues(field: string) {
  const { state, change } = useSearch()
  const condition = state.conditions[field]
  const exclusion = exclusionOf(state, field)
  const excluded = exclusion && conditionsAt(state, exclusion)[field]
  const active = excluded ?? condition
  const [wantsNot, setWantsNot] = useState(false)
  const isNot = excluded ? true : condition ? false : wantsNot
  const chosen = active?.kind === 'values' ? active.values : []
  const isUnknown = isMixed(condition) || (condition?.kind === 'known' && !condition.known)
  const choose = (values: string[], unknown: boolean, not = isNot) => {
    if (not && !unknown) return change(withExclusion(state, field, values))
    const rest = withExclusion(state, field, [])
    change(withCondition(rest, field, { kind: 'values', values, ...(unknown ? { unknown } : {}) }))
  }
  return {
    chosen,
    isUnknown,
    /** Values are excluded. */
    isNot,
    isActive: active !== undefined,
    /** Groups have the condition: they exclude values, or contain "or unknown". */
    inGroups: isMixed(condition) || excluded !== undefined,
    set: (value: string, on: boolean) => {
      const rest = chosen.filter((v) => !same(v, value))
      choose(on ? [...rest, value] : rest, isUnknown)
    },
    setUnknown: (unknown: boolean) => choose(chosen, unknown),
    /** toggleExclusion includes what was excluded, or the reverse. */
    toggleExclusion: () => {
      setWantsNot(!isNot)
      if (chosen.length > 0) choose(chosen, false, !isNot)
    },
  }
}
