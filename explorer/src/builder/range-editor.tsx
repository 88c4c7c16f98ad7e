import { useQuery } from '@tanstack/react-query'
import type { Body } from '../api/body'
import { facetsQuery } from '../api/queries'
import { labelOf, rangesOf, type Dataset, type FieldKind } from '../datasets'
import { formatDay, formatNumber } from '../format'
import { barsOf, rangeOf } from '../search/buckets'
import type { Condition } from '../search/conditions'
import { useSearch } from '../search/context'
import { Ends } from '../search/range-facet'
import { daysOf } from '../search/relative'
import { Histogram } from '../ui/histogram'
import { presetsOf } from './presets'

interface Props {
  dataset: Dataset
  field: string
  kind: FieldKind
  /** What the bars count. */
  body: Body
  range: { from?: string; to?: string } | undefined
  set: (c: Condition | undefined) => void
}

/** RangeEditor chooses dates or numbers: by two ends, by bars, and dates by presets. */
export function RangeEditor({ dataset, field, kind, body, range, set }: Props) {
  const { workspace } = useSearch()
  const isDate = kind === 'date'
  const request = isDate ? { field, interval: 'year' as const } : { field, ranges: rangesOf(dataset, field) }
  const counts = useQuery(facetsQuery(workspace.id, dataset, body, [request]))
  const facet = counts.data?.facets[0]
  const bars = barsOf(kind, facet?.buckets ?? [])
  return (
    <>
      <Ends field={{ key: field, kind }} range={range} set={set} />
      {isDate && (
        <div className="presets">
          {presetsOf(new Date()).map(({ label, from, to }) => {
            const on = range?.from === from && range.to === to
            return (
              <button
                key={label}
                className="button"
                aria-pressed={on}
                onClick={() => set(on ? undefined : { kind: 'range', from, ...(to ? { to } : {}) })}
              >
                {label}
              </button>
            )
          })}
        </div>
      )}
      {facet ? (
        <>
          {bars.length > 0 && (
            <Histogram
              label={labelOf(field)}
              bars={bars}
              {...daysOf(range)}
              numeric={!isDate}
              onBrush={(first, last) => set(rangeOf(bars, first, last))}
            />
          )}
          <p className="quiet">{about(facet, isDate)}</p>
        </>
      ) : (
        !counts.error && <div className="skeleton" style={{ height: 56 }} />
      )}
    </>
  )
}

interface Extent {
  min?: string | number | null
  max?: string | number | null
  unknown?: number
}

function about({ min, max, unknown = 0 }: Extent, isDate: boolean): string {
  const show = (end: string | number) => (isDate ? formatDay(String(end)) : formatNumber(Number(end)))
  const isEmpty = min === null || min === undefined || max === null || max === undefined
  return [
    isEmpty ? 'No known value.' : `From ${show(min)} to ${show(max)}.`,
    unknown > 0 ? `${formatNumber(unknown)} without a value match no range.` : '',
  ].join(' ')
}
