import { labelOf } from '../datasets'
import type { Measure } from '../api/queries'
import { useSearch } from '../search/context'
import { dimensionsOf, intervals, measureFields, measureLabel, statistics, type Dimension } from './dimensions'

const groups = [
  { kind: 'date', label: 'Over time' },
  { kind: 'values', label: 'By value' },
  { kind: 'number', label: 'By size' },
] as const

/** ChartChoice chooses what is measured and by what. */
export function ChartChoice({ dimension, measure }: { dimension: Dimension; measure: Measure | undefined }) {
  const { state, change } = useSearch()
  const { dataset } = state
  const fields = dimensionsOf(state)
  const set = (part: { by?: string; of?: string | undefined }) => {
    const { of, ...rest } = { ...state, ...part }
    change({ ...rest, ...(of ? { of } : {}) })
  }
  return (
    <div className="choice">
      <label>
        Show{' '}
        <select
          className="select"
          value={measure ? `${measure.of}:${measure.field}` : ''}
          onChange={(e) => set({ of: e.target.value })}
        >
          <option value="">{measureLabel(dataset, undefined)}</option>
          {measureFields(dataset).map((field) => (
            <optgroup key={field} label={labelOf(field)}>
              {statistics.map(({ of }) => (
                <option key={of} value={`${of}:${field}`}>
                  {measureLabel(dataset, { field, of })}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <label>
        by{' '}
        <select className="select" value={dimension.key} onChange={(e) => set({ by: e.target.value })}>
          {groups.map(({ kind, label }) => {
            const some = fields.filter((f) => f.kind === kind)
            return (
              some.length > 0 && (
                <optgroup key={kind} label={label}>
                  {some.map((f) => (
                    <option key={f.key} value={f.key}>
                      {labelOf(f.key)}
                    </option>
                  ))}
                </optgroup>
              )
            )
          })}
        </select>
      </label>
      {dimension.interval && (
        <label>
          each{' '}
          <select
            className="select"
            value={dimension.interval}
            onChange={(e) => set({ by: `${dimension.key}:${e.target.value}` })}
          >
            {intervals.map((i) => (
              <option key={i}>{i}</option>
            ))}
          </select>
        </label>
      )}
    </div>
  )
}
