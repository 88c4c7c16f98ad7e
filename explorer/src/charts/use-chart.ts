import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { facetsQuery } from '../api/queries'
import { useSearch } from '../search/context'
import { dimensionOf, measureOf } from './dimensions'
import { pointsOf, requestOf } from './points'

/** useChart counts the search by the field of its address. */
export function useChart() {
  const { workspace, state, body, valueLabel } = useSearch()
  const { dataset, source } = state
  const dimension = useMemo(
    () => dimensionOf({ dataset, ...(source ? { source } : {}) }, state.by),
    [dataset, source, state.by],
  )
  const measure = useMemo(() => measureOf(dataset, state.of), [dataset, state.of])
  const { key, kind } = dimension
  const condition = state.conditions[key]
  // A range of numbers is divided; an open end is taken from the data.
  const range = kind === 'number' && condition?.kind === 'range' ? condition : undefined
  const open = range && (range.from === undefined || range.to === undefined)
  const bounds = useQuery({
    ...facetsQuery(workspace.id, dataset, body, [{ field: key, buckets: 1, exclude_own: false }]),
    enabled: open === true,
  })
  const known = bounds.data?.facets[0]
  const ends = range && (!open || known) ? endsOf(range, known?.min, known?.max) : undefined
  const request = requestOf(dimension, measure, ends)
  const { data, isPlaceholderData, error, refetch } = useQuery({
    ...facetsQuery(workspace.id, dataset, body, [request]),
    enabled: !open || known !== undefined,
  })
  const facet = isPlaceholderData ? undefined : data?.facets[0]
  const points = useMemo(
    () => facet && pointsOf(dimension, measure, facet, condition, valueLabel),
    [facet, dimension, measure, condition, valueLabel],
  )
  return { dimension, measure, request, facet, points, error, retry: () => void refetch() }
}

/** endsOf are the ends of a range, an open one taken from the data. */
function endsOf(range: { from?: string; to?: string }, min: unknown, max: unknown): [number, number] | undefined {
  const from = Number(range.from ?? min ?? NaN)
  const to = Number(range.to ?? max ?? NaN)
  return Number.isFinite(from) && Number.isFinite(to) ? [from, to] : undefined
}
