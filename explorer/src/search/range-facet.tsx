import { useId } from 'react'
import type { Schemas } from '../api/client'
import { labelOf, type RailField } from '../datasets'
import { formatNumber } from '../format'
import { Histogram } from '../ui/histogram'
import { barsOf, rangeOf } from './buckets'
import { rangeBetween } from './conditions'
import { useSearch } from './context'
import { withCondition, type Condition } from './state'

/** RangeFacet brushes a histogram of dates or numbers; two inputs do the same. */
export function RangeFacet({ field, facet }: { field: RailField; facet: Schemas['Facet'] }) {
  const { state, change, describe } = useSearch()
  const id = useId()
  const condition = state.conditions[field.key]
  const range = condition?.kind === 'range' ? condition : undefined
  const isUnknown = condition?.kind === 'known' && !condition.known
  const bars = barsOf(field.kind, facet.buckets ?? [])
  const set = (c: Condition | undefined) => change(withCondition(state, field.key, c))
  return (
    <section className="facet" aria-labelledby={id}>
      <div className="facet-head">
        <h3 id={id} title={describe(state.dataset, field.key)}>
          {labelOf(field.key)}
        </h3>
        {(range || isUnknown) && (
          <button className="link" onClick={() => set(undefined)}>
            Clear
          </button>
        )}
      </div>
      <Histogram
        label={labelOf(field.key)}
        bars={bars}
        {...(range ? { from: range.from, to: range.to } : {})}
        numeric={field.kind === 'number'}
        onBrush={(first, last) => set(rangeOf(bars, first, last))}
      />
      <Ends key={JSON.stringify(range)} field={field} range={range} set={set} />
      {((facet.unknown ?? 0) > 0 || isUnknown) && (
        <label className="option unknown">
          <input
            type="checkbox"
            checked={isUnknown}
            onChange={(e) => set(e.target.checked ? { kind: 'known', known: false } : undefined)}
          />
          <span className="name">Unknown</span>
          <span className="count">{formatNumber(facet.unknown ?? 0)}</span>
        </label>
      )}
    </section>
  )
}

interface EndsProps {
  field: Pick<RailField, 'key' | 'kind'>
  range: { from?: string; to?: string } | undefined
  set: (c: Condition | undefined) => void
}

/** Ends takes effect when one leaves an input or presses Enter. */
export function Ends({ field, range, set }: EndsProps) {
  const end = (name: 'from' | 'to') => (
    <input
      type={field.kind === 'date' ? 'date' : 'text'}
      inputMode={field.kind === 'date' ? undefined : 'decimal'}
      aria-label={`${labelOf(field.key)}, ${name === 'from' ? 'from' : 'up to'}`}
      className={range?.[name] ? undefined : 'empty'}
      placeholder={name === 'from' ? 'from' : 'up to'}
      defaultValue={range?.[name]}
      onKeyDown={(e) => {
        if (e.key === 'Enter') e.currentTarget.blur()
      }}
      onBlur={(e) => {
        const text = e.target.value.replaceAll(/[,\s_]/g, '')
        if (text === (range?.[name] ?? '')) return
        const next: { from?: string; to?: string } = { ...range, [name]: text }
        const condition = rangeBetween(field.kind, next.from ?? '', next.to ?? '')
        if (condition || (!next.from && !next.to)) set(condition)
        else e.target.value = range?.[name] ?? ''
      }}
    />
  )
  return (
    <div className="ends">
      {end('from')}
      <span aria-hidden="true">–</span>
      {end('to')}
    </div>
  )
}
