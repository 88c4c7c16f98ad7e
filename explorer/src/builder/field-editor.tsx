import { useState } from 'react'
import { nouns } from '../datasets'
import type { Condition } from '../search/conditions'
import { useSearch } from '../search/context'
import {
  conditionsAt,
  datasetAt,
  exclusionOf,
  bodyWithout,
  withConditionAt,
  withExclusion,
  type Page,
} from '../search/scope'
import type { PageProps } from './page'
import { modeLabel, modeOf, modesOf, type Mode } from './modes'
import { PlaceEditor } from './place-editor'
import { PolygonEditor } from './polygon-editor'
import { RangeEditor } from './range-editor'
import { ValuesEditor } from './values-editor'
import { WordsEditor } from './words-editor'

/** FieldEditor changes the condition on a field. */
export function FieldEditor({ page, change, open, replace }: PageProps<Extract<Page, { kind: 'field' }>>) {
  const { state, kindOf, describe } = useSearch()
  const { scope, key, alone = false } = page
  // A condition of the search itself can become an exclusion, which is a group, and vice versa.
  const inSearch = alone || (!scope.group && !scope.relation)
  const dataset = datasetAt(state, scope)
  const kind = kindOf(dataset, key) ?? 'text'
  const [mode, setMode] = useState(() => modeOf(kind, conditionsAt(state, scope)[key], alone))
  const at = inSearch ? (mode === 'not' ? exclusionOf(state, key) : {}) : scope
  const condition = at && conditionsAt(state, at)[key]

  const put = (c: Condition | undefined, as: Mode) => {
    if (!inSearch) {
      const next = withConditionAt(state, scope, key, c)
      const done = change(next)
      // The group has been removed, and the next one has its index.
      const { of, at = 0 } = scope.group ?? {}
      if (done && of && at < (next[of]?.length ?? 0) && next[of]?.length !== state[of]?.length)
        replace({ kind: 'groups', of })
      return done
    }
    const values = c?.kind === 'values' ? c : { values: [], exact: false }
    if (as === 'not') return change(withExclusion(state, key, values.values, values.exact))
    const rest = mode === 'not' ? withExclusion(state, key, []) : state
    return change(withConditionAt(rest, {}, key, c))
  }
  const set = (c: Condition | undefined) => put(c, mode)
  const values = condition?.kind === 'values' ? condition.values : []
  const setValues = (next: string[], unknown = false) => {
    if (next.length === 0) return set(unknown ? { kind: 'known', known: false } : undefined)
    const exact = condition?.kind === 'values' ? condition.exact : mode === 'exactly'
    return set({ kind: 'values', values: next, ...(unknown ? { unknown } : {}), ...(exact ? { exact } : {}) })
  }
  const switchTo = (as: Mode) => {
    let next: Condition | undefined
    if (as === 'known' || as === 'unknown') next = { kind: 'known', known: as === 'known' }
    else if (values.length > 0) next = { kind: 'values', values, ...(as === 'exactly' ? { exact: true } : {}) }
    if ((!next && !condition) || put(next, as)) setMode(as)
  }

  const body = bodyWithout(
    mode === 'not' && inSearch ? withExclusion(state, key, []) : state,
    inSearch ? {} : scope,
    key,
    kindOf,
  )
  const shared = { dataset, field: key, body }
  return (
    <>
      <p className="quiet">{describe(dataset, key)}</p>
      <div className="mode">
        <select aria-label="Condition" value={mode} onChange={(e) => switchTo(e.target.value as Mode)}>
          {modesOf(kind, inSearch).map((m) => (
            <option key={m} value={m}>
              {modeLabel(m, kind)}
            </option>
          ))}
        </select>
        {condition && (
          <button
            className="link"
            onClick={() => set(undefined) && setMode(mode === 'not' ? 'not' : modeOf(kind, undefined, false))}
          >
            Clear
          </button>
        )}
      </div>
      {(mode === 'known' || mode === 'unknown') && (
        <p className="match-note">
          {nouns[dataset].many} {mode === 'known' ? 'with' : 'without'} a value here
        </p>
      )}
      {(mode === 'is' || mode === 'exactly' || mode === 'not') &&
        (kind === 'values' ? (
          <ValuesEditor
            {...shared}
            values={values}
            set={setValues}
            {...(inSearch && mode === 'is'
              ? { unknown: condition?.kind === 'values' && condition.unknown === true }
              : {})}
          />
        ) : (
          <WordsEditor dataset={dataset} field={key} values={values} set={setValues} />
        ))}
      {mode === 'range' && (
        <RangeEditor {...shared} kind={kind} range={condition?.kind === 'range' ? condition : undefined} set={set} />
      )}
      {(mode === 'near' || mode === 'within') && (
        <PlaceEditor key={mode} mode={mode} place={condition?.kind === 'place' ? condition : undefined} set={set} />
      )}
      {mode === 'polygon' && <PolygonEditor place={condition?.kind === 'place' ? condition : undefined} set={set} />}
      {mode === 'not' && at?.group && (
        <button className="link" onClick={() => open({ kind: 'pick', scope: at })}>
          Exclude only if another condition is met too
        </button>
      )}
    </>
  )
}
