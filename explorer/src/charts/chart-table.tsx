import { labelOf } from '../datasets'
import { formatNumber } from '../format'
import type { Dimension } from './dimensions'
import type { Point } from './points'

interface Props {
  title: string
  dimension: Dimension
  /** What is measured beside the count. */
  measure: string | undefined
  points: Point[]
  /** Otherwise the table is for screen readers only. */
  shown: boolean
  choose: (point: Point) => void
}

/** ChartTable has the numbers of a chart. */
export function ChartTable({ title, dimension, measure, points, shown, choose }: Props) {
  return (
    <div className={shown ? 'chart-table' : 'sr'}>
      <table>
        <caption className="sr">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{labelOf(dimension.key)}</th>
            <th scope="col">Count</th>
            {measure && <th scope="col">{measure}</th>}
          </tr>
        </thead>
        <tbody>
          {points.map((p, i) => (
            <tr key={i}>
              <th scope="row">
                {shown && p.condition ? (
                  <button className="link" onClick={() => choose(p)}>
                    <bdi>{p.label}</bdi>
                  </button>
                ) : (
                  <bdi>{p.label}</bdi>
                )}
              </th>
              <td>{formatNumber(p.count)}</td>
              {measure && <td>{p.value === null ? '–' : formatNumber(p.value)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
