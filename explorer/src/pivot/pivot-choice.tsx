import { labelOf, type RailField } from '../datasets'
import { measureFields } from '../charts/dimensions'
import type { PivotMeasure } from '../api/queries'
import { useSearch } from '../search/context'
import { intervals, measureName, statistics, type Axis } from './axes'

interface Props {
  fields: RailField[]
  rows: Axis
  columns: Axis | undefined
  measure: PivotMeasure | undefined
}

const textOf = (axis: Axis | undefined) => (axis ? (axis.interval ? `${axis.key}:${axis.interval}` : axis.key) : '')

/** PivotChoice chooses rows, columns and what is measured. */
export function PivotChoice({ fields, rows, columns, measure }: Props) {
  const { state, change } = useSearch()
  const set = (part: { rows?: string; columns?: string; of?: string }) => {
    const by = part.rows ?? textOf(rows)
    const across = part.columns ?? textOf(columns)
    const of = part.of ?? (measure ? `${measure.of}:${measure.field}` : '')
    // Values without a text are not in the address.
    change({ ...state, by, across, of })
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
          <option value="">Count</option>
          {measureFields(state.dataset).map((field) => (
            <optgroup key={field} label={labelOf(field)}>
              {statistics.map(({ of }) => (
                <option key={of} value={`${of}:${field}`}>
                  {measureName({ field, of })}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <AxisChoice label="Rows" fields={fields} axis={rows} set={(text) => set({ rows: text })} />
      <AxisChoice label="Columns" fields={fields} axis={columns} set={(text) => set({ columns: text })} none />
    </div>
  )
}

interface AxisProps {
  label: string
  fields: RailField[]
  axis: Axis | undefined
  set: (text: string) => void
  /** No field can be chosen. */
  none?: boolean
}

function AxisChoice({ label, fields, axis, set, none }: AxisProps) {
  return (
    <>
      <label>
        {label}{' '}
        <select className="select" aria-label={label} value={axis?.key ?? ''} onChange={(e) => set(e.target.value)}>
          {none && <option value="">None</option>}
          {fields.map((f) => (
            <option key={f.key} value={f.key}>
              {labelOf(f.key)}
            </option>
          ))}
        </select>
      </label>
      {axis?.interval && (
        <label>
          each{' '}
          <select
            className="select"
            aria-label={`${label} each`}
            value={axis.interval}
            onChange={(e) => set(`${axis.key}:${e.target.value}`)}
          >
            {intervals.map((i) => (
              <option key={i}>{i}</option>
            ))}
          </select>
        </label>
      )}
    </>
  )
}
