import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useState } from 'react'
import type { Schemas } from '../api/client'
import { facetsQuery } from '../api/queries'
import { counted as countedOf, labelOf } from '../datasets'
import { formatNumber } from '../format'
import { same } from './conditions'
import { useSearch } from './context'
import { conditionsAt, exclusionOf, withExclusion } from './scope'
import { bodyOf, isMixed, withCondition } from './state'

/** How many values are read, and how many of them are shown at first. */
export const mostValues = 50
const atFirst = 8

interface Option {
  value: string
  label: string
  count: number | undefined
}

/** ValueFacet selects values of a field, to include or exclude; several are alternatives. */
export function ValueFacet({ field, facet: counted }: { field: string; facet: Schemas['Facet'] }) {
  const { state, change, describe, valueLabel, workspace, kindOf } = useSearch()
  const condition = state.conditions[field]
  const exclusion = exclusionOf(state, field)
  const excluded = exclusion && conditionsAt(state, exclusion)[field]
  const [wantsNot, setWantsNot] = useState(false)
  const isNot = excluded ? true : condition ? false : wantsNot
  // A facet ignores the filter on its field, but not groups that exclude values or contain "or
  // unknown".
  const inGroups = isMixed(condition) || excluded !== undefined
  const body = bodyOf(withExclusion(state, field, []), kindOf)
  const alone = useQuery({
    ...facetsQuery(workspace.id, state.dataset, body, [{ field, limit: mostValues }]),
    enabled: inGroups,
  })
  const facet = (inGroups && alone.data?.facets[0]) || counted
  const id = useId()
  const [prefix, setPrefix] = useState('')
  const [all, setAll] = useState(false)
  const wanted = useDeferredValue(prefix.trim())
  const more = useQuery({
    ...facetsQuery(workspace.id, state.dataset, body, [{ field, limit: mostValues, prefix: wanted }]),
    enabled: wanted !== '',
  })
  const active = excluded ?? condition
  const chosen = active?.kind === 'values' ? active.values : []
  const listed = facet.values ?? []
  const shown =
    (wanted && more.data?.facets[0]?.values) ||
    // A selected value is always listed, so that it can be deselected.
    listed.filter((v, i) => all || i < atFirst || chosen.some((c) => same(c, v.value)))
  const options: Option[] = shown.map((v) => ({
    value: v.value,
    label: v.label ?? valueLabel(field, v.value),
    count: v.count,
  }))
  for (const value of chosen) {
    if (!options.some((o) => same(o.value, value)))
      options.unshift({ value, label: valueLabel(field, value), count: undefined })
  }
  const most = Math.max(1, ...options.map((o) => o.count ?? 0))
  const isUnknown = isMixed(condition) || (condition?.kind === 'known' && !condition.known)
  // Hidden values, and how many records have values that are not listed.
  const hidden = all ? listed.length - atFirst : listed.length - shown.length
  const others = facet.other ?? 0
  const choose = (values: string[], unknown: boolean, not = isNot) => {
    if (not && !unknown) return change(withExclusion(state, field, values))
    const rest = withExclusion(state, field, [])
    change(withCondition(rest, field, { kind: 'values', values, ...(unknown ? { unknown } : {}) }))
  }
  const set = (value: string, on: boolean) => {
    const rest = chosen.filter((v) => !same(v, value))
    choose(on ? [...rest, value] : rest, isUnknown)
  }
  return (
    <section className="facet" aria-labelledby={id}>
      <div className="facet-head">
        <h3 id={id} title={describe(state.dataset, field)}>
          {labelOf(field)}
        </h3>
        <button
          className={active ? 'link turn' : 'link turn idle'}
          aria-label={`${labelOf(field)} ${isNot ? 'is not' : 'is'}`}
          title={isNot ? 'Find what is chosen' : 'Leave out what is chosen'}
          onClick={() => {
            setWantsNot(!isNot)
            if (chosen.length > 0) choose(chosen, false, !isNot)
          }}
        >
          {isNot ? 'is not' : 'is'}
        </button>
      </div>
      {(listed.length > atFirst || prefix) && (
        <input
          className="within"
          type="text"
          placeholder={`Search ${labelOf(field).toLowerCase()}`}
          aria-label={`Search within ${labelOf(field)}`}
          value={prefix}
          onChange={(e) => setPrefix(e.target.value)}
        />
      )}
      <ul className="options">
        {options.map((o) => (
          <li key={o.value}>
            <label>
              <input
                type="checkbox"
                checked={chosen.some((v) => same(v, o.value))}
                onChange={(e) => set(o.value, e.target.checked)}
              />
              <span className="name" title={o.label}>
                {o.label}
              </span>
              <span className="count">{o.count === undefined ? '' : formatNumber(o.count)}</span>
              <span className="track" aria-hidden="true">
                <span style={{ width: `${((o.count ?? 0) / most) * 100}%` }} />
              </span>
            </label>
          </li>
        ))}
        {!isNot && ((facet.unknown ?? 0) > 0 || isUnknown) && (
          <li>
            <label className="unknown">
              <input type="checkbox" checked={isUnknown} onChange={(e) => choose(chosen, e.target.checked)} />
              <span className="name">Unknown</span>
              <span className="count">{formatNumber(facet.unknown ?? 0)}</span>
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
