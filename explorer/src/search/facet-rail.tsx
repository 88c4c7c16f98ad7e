import type { Counts, FacetRequest } from '../api/queries'
import { labelOf, type RailField } from '../datasets'
import { railOf } from '../source'
import { Notice } from '../ui/notice'
import { useSearch } from './context'
import { RangeFacet } from './range-facet'
import { cleared, isEmpty } from './state'
import { ValueFacet } from './value-facet'

/** facetRequests asks for the facets of a rail. */
export function facetRequests(fields: RailField[]): FacetRequest[] {
  return fields.map((f) => {
    if (f.kind === 'date') return { field: f.key, interval: 'year' }
    if (f.ranges) return { field: f.key, ranges: f.ranges }
    return { field: f.key, limit: 8 }
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
  if (error && !counts) return <Notice error={error} retry={retry} />
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
      {railOf(state).map((field) => {
        const facet = counts?.facets.find((f) => f.field === field.key)
        if (!facet) return <FacetSkeleton key={field.key} label={labelOf(field.key)} />
        return field.kind === 'values' ? (
          <ValueFacet key={field.key} field={field.key} facet={facet} />
        ) : (
          <RangeFacet key={field.key} field={field} facet={facet} />
        )
      })}
    </>
  )
}

function FacetSkeleton({ label }: { label: string }) {
  return (
    <section className="facet">
      <h3>{label}</h3>
      {[70, 45, 30].map((width) => (
        <div key={width} className="skeleton line" style={{ width: `${width}%` }} />
      ))}
    </section>
  )
}
