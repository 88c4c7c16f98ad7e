import { useId } from 'react'
import type { Schemas } from '../api/client'
import { counted as countedOf, labelOf } from '../datasets'
import { formatNumber } from '../format'
import { same } from './conditions'
import { useSearch } from './context'
import { useChosenValues } from './use-chosen-values'
import { useValueOptions, type Option } from './use-value-options'

/** ValueFacet selects values of a field, to include or exclude; several are alternatives. */
export function ValueFacet({ field, facet: counted }: { field: string; facet: Schemas['Facet'] }) {
  const { state, describe } = useSearch()
  const values = useChosenValues(field)
  const { chosen, isUnknown, isNot } = values
  const { options, prefix, setPrefix, all, setAll, hasMore, hidden, others, unknown } = useValueOptions(
    field,
    counted,
    values,
  )
  const most = Math.max(1, ...options.map((o) => o.count ?? 0))
  const id = useId()
  return (
    <section className="facet" aria-labelledby={id}>
      <div className="facet-head">
        <h3 id={id} title={describe(state.dataset, field)}>
          {labelOf(field)}
        </h3>
        <button
          className={values.isActive ? 'link exclude-toggle' : 'link exclude-toggle idle'}
          aria-label={`${labelOf(field)} ${isNot ? 'is not' : 'is'}`}
          title={isNot ? 'Find what is chosen' : 'Leave out what is chosen'}
          onClick={values.toggleExclusion}
        >
          {isNot ? 'is not' : 'is'}
        </button>
      </div>
      {(hasMore || prefix) && (
        <input
          className="filter-input"
          type="text"
          placeholder={`Search ${labelOf(field).toLowerCase()}`}
          aria-label={`Search within ${labelOf(field)}`}
          value={prefix}
          onChange={(e) => setPrefix(e.target.value)}
        />
      )}
      <ul className="options">
        {options.map((o) => (
          <ValueOption
            key={o.value}
            option={o}
            share={(o.count ?? 0) / most}
            checked={chosen.some((v) => same(v, o.value))}
            set={(on) => values.set(o.value, on)}
          />
        ))}
        {!isNot && (unknown > 0 || isUnknown) && (
          <li>
            <label className="unknown">
              <input type="checkbox" checked={isUnknown} onChange={(e) => values.setUnknown(e.target.checked)} />
              <span className="name">Unknown</span>
              <span className="count">{formatNumber(unknown)}</span>
            </label>
          </li>
        )}
      </ul>
      {options.length === 0 && !isUnknown && <p className="quiet">{prefix ? 'No value begins so' : 'No values'}</p>}
      {hidden > 0 && !prefix && (
        <button className="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all
            ? 'Show fewer'
            : `Show ${formatNumber(hidden)} ${others > 0 ? 'of the other values' : hidden === 1 ? 'other value' : 'other values'}`}
        </button>
      )}
      {all && others > 0 && !prefix && (
        <p className="quiet">{countedOf(others, state.dataset)} with further values: search for them above.</p>
      )}
    </section>
  )
}

interface OptionProps {
  option: Option
  /** The count as a part of the largest one. */
  share: number
  checked: boolean
  set: (on: boolean) => void
}

/** ValueOption is a value with its count, to select. */
function ValueOption({ option: { label, count }, share, checked, set }: OptionProps) {
  return (
    <li>
      <label>
        <input type="checkbox" checked={checked} onChange={(e) => set(e.target.checked)} />
        <span className="name" title={label}>
          {label}
        </span>
        <span className="count">{count === undefined ? '' : formatNumber(count)}</span>
        <span className="track" aria-hidden="true">
          <span style={{ width: `${share * 100}%` }} />
        </span>
      </label>
    </li>
  )
}
