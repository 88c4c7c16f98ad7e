import type { Counts, FacetRequest } from '../api/queries'
import { labelOf, type RailField } from '../datasets'
import { railOf } from '../source'
import { explain, Notice } from '../ui/notice'
import { useSearch } from './context'
import { RangeFacet } from './range-facet'
import { cleared, isEmpty, withCondition } from './state'
import { maxValues } from './use-value-options'
import { ValueFacet } from './value-facet'

/** facetRequests is the request for the facets of a rail. */
export function facetRequests(fields: RailField[]): FacetRequest[] {
  return fields.map((f) => {
    if (f.kind === 'date') return { field: f.key, interval: 'year' }
    if (f.ranges) return { field: f.key, ranges: f.ranges }
    return { field: f.key, limit: maxValues }
  })
}

interface Props {
  counts: Counts | undefined
  error: Error | null
  retry: () => void
}

/** FacetRail has a facet for each field of the rail. Counting is free. */
export function FacetRail({ counts, error, retry }: Props) {
  const { state, change } = useSearch()
  return (
    <>
      <div className="rail-head">
        <h2>Filters</h2>
        {!isEmpty(state) && (
          <button className="link" onClick={() => change(cleared(state))}>
            Clear all
          </button>
        )}
      </div>
      {/* A refusal is shown once, in place of the results. */}
      {error && !counts && explain(error).retryable && <Notice error={error} retry={retry} />}
      {railOf(state).map((field) => {
        const facet = counts?.facets.find((f) => f.field === field.key)
        if (!facet) return <Uncounted key={field.key} field={field} />
        return field.kind === 'values' ? (
          <ValueFacet key={field.key} field={field.key} facet={facet} />
        ) : (
          <RangeFacet key={field.key} field={field} facet={facet} />
        )
      })}
    </>
  )
}

/** Uncounted is a facet without counts yet. A condition on its field can still be removed. */
function Uncounted({ field }: { field: RailField }) {
  const { state, change } = useSearch()
  return (
    <section className="facet">
      <div className="facet-head">
        <h3>{labelOf(field.key)}</h3>
        {state.conditions[field.key] && (
          <button className="link" onClick={() => change(withCondition(state, field.key, undefined))}>
            Clear
          </button>
        )}
      </div>
      {[70, 45, 30].map((width) => (
        <div key={width} className="skeleton line" style={{ width: `${width}%` }} />
      ))}
    </section>
  )
}
