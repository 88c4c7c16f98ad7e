import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import type { Schemas } from '../api/client'
import { facetsQuery } from '../api/queries'
import { same } from './conditions'
import { useSearch } from './context'
import { withExclusion } from './scope'
import { bodyOf } from './state'
import type { useChosenValues } from './use-chosen-values'

/** How many values are read, and how many of them are shown at first. */
export const maxValues = 50
const initialValues = 8

export interface Option {
  value: string
  label: string
  count: number | undefined
}

/** useValueOptions has the values of a field to choose from: the frequent ones, or those that begin with a prefix. */
export function useValueOptions(
  field: string,
  counted: Schemas['Facet'],
  { chosen, inGroups }: ReturnType<typeof useChosenValues>,
) {
  const { state, valueLabel, workspace, kindOf } = useSearch()
  const [prefix, setPrefix] = useState('')
  const [all, setAll] = useState(false)
  const valuePrefix = useDeferredValue(prefix.trim())
  const body = bodyOf(withExclusion(state, field, []), kindOf)
  // A facet ignores the filter on its field, but not groups.
  const alone = useQuery({
    ...facetsQuery(workspace.id, state.dataset, body, [{ field, limit: maxValues }]),
    enabled: inGroups,
  })
  const more = useQuery({
    ...facetsQuery(workspace.id, state.dataset, body, [{ field, limit: maxValues, prefix: valuePrefix }]),
    enabled: valuePrefix !== '',
  })
  const facet = (inGroups && alone.data?.facets[0]) || counted
  const listed = facet.values ?? []
  const shown =
    (valuePrefix && more.data?.facets[0]?.values) ||
    // A selected value is always listed, so that it can be deselected.
    listed.filter((v, i) => all || i < initialValues || chosen.some((c) => same(c, v.value)))
  const options: Option[] = shown.map((v) => ({
    value: v.value,
    label: v.label ?? valueLabel(field, v.value),
    count: v.count,
  }))
  for (const value of chosen) {
    if (!options.some((o) => same(o.value, value)))
      options.unshift({ value, label: valueLabel(field, value), count: undefined })
  }
  return {
    options,
    prefix,
    setPrefix,
    all,
    setAll,
    hasMore: listed.length > initialValues,
    /** How many values are hidden, or are not at first. */
    hidden: all ? listed.length - initialValues : listed.length - shown.length,
    /** How many records have values that are not listed. */
    others: facet.other ?? 0,
    unknown: facet.unknown ?? 0,
  }
}
