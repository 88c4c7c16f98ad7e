import { useEffect, useId, useRef } from 'react'
import type { Schemas } from '../api/client'
import { labelOf, type RailField } from '../datasets'
import { formatNumber } from '../format'
import { Histogram } from '../ui/histogram'
import { barsOf, rangeOf } from './buckets'
import { rangeBetween } from './conditions'
import { useSearch } from './context'
import { daysOf } from './relative'
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
        {...daysOf(range)}
        numeric={field.kind === 'number'}
        onBrush={(first, last) => set(rangeOf(bars, first, last))}
      />
      <Ends field={field} range={range} set={set} />
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

/** Ends are two inputs for a range. */
export function Ends({ field, range, set }: EndsProps) {
  const put = (from = '', to = '') => {
    const condition = rangeBetween(field.kind, from, to)
    const valid = condition !== undefined || (!from && !to)
    if (valid) set(condition)
    return valid
  }
  const shown = daysOf(range)
  return (
    <div className="ends">
      <End
        label={`${labelOf(field.key)}, from`}
        placeholder="from"
        kind={field.kind}
        value={shown.from}
        put={(from) => put(from, range?.to)}
      />
      <span aria-hidden="true">–</span>
      <End
        label={`${labelOf(field.key)}, up to`}
        placeholder="up to"
        kind={field.kind}
        value={shown.to}
        put={(to) => put(range?.from, to)}
      />
    </div>
  )
}

interface EndProps {
  label: string
  placeholder: string
  kind: RailField['kind']
  value: string | undefined
  /** put reports whether a text may be the end. */
  put: (text: string) => boolean
}

/** End takes effect when it loses the focus or on Enter. It stays the same input, so that the focus is not lost. */
function End({ label, placeholder, kind, value = '', put }: EndProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current) input.current.value = value
  }, [value])
  const apply = (field: HTMLInputElement) => {
    const text = field.value.replaceAll(/[,\s_]/g, '')
    if (text !== value && !put(text)) field.value = value
  }
  return (
    <input
      ref={input}
      type={kind === 'date' ? 'date' : 'text'}
      inputMode={kind === 'date' ? undefined : 'decimal'}
      aria-label={label}
      className={value ? undefined : 'empty'}
      placeholder={placeholder}
      defaultValue={value}
      onKeyDown={(e) => {
        if (e.key === 'Enter') apply(e.currentTarget)
      }}
      onBlur={(e) => apply(e.target)}
    />
  )
}
