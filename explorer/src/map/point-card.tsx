import type { Map as MapGL } from 'maplibre-gl'
import type { AnyRecord } from '../datasets'
import { columnsOf, nameOf } from '../search/columns'
import { pointOf } from './tiles'

/** Fields of the card, beside the name. */
const shown = ['stage', 'cost', 'permitted_at']

/** PointCard describes the point under the mouse. */
export function PointCard({ map, record }: { map: MapGL; record: AnyRecord }) {
  const point = pointOf(record)
  if (!point) return null
  const { x, y } = map.project(point)
  const below = y < 140
  const right = x > map.getContainer().clientWidth - 260
  return (
    <div className="point-card" data-below={below} data-right={right} style={{ left: x, top: y }}>
      <b>{nameOf(record)}</b>
      <dl>
        {columnsOf('projects')
          .filter((c) => shown.includes(c.key))
          .map((c) => (
            <div key={c.key}>
              <dt>{c.label}</dt>
              <dd>{c.cell(record)}</dd>
            </div>
          ))}
      </dl>
    </div>
  )
}
