import { formatNumber } from '../format'
import { side } from '../search/place'
import type { Cell } from './tiles'

interface Props {
  cells: Cell[]
  action: string
  choose: (cell: Cell) => void
}

/** The most places that the table lists. */
const maxPlaces = 200

const degrees = (n: number) => `${Math.abs(n).toFixed(3)}°`

const around = ({ latitude, longitude }: Cell) =>
  `${degrees(latitude)} ${side.latitude(latitude)}, ${degrees(longitude)} ${side.longitude(longitude)}`

/** PlacesTable lists the cells of the map, those with the most projects first. */
export function PlacesTable({ cells, action, choose }: Props) {
  return (
    <div className="places" role="region" aria-label="Places" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Around</th>
            <th scope="col">Projects</th>
            <th scope="col">
              <span className="sr">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {cells.slice(0, maxPlaces).map((cell) => {
            const place = around(cell)
            return (
              <tr key={`${cell.box.north},${cell.box.west}`}>
                <th scope="row">{place}</th>
                <td>{formatNumber(cell.count)}</td>
                <td>
                  <button className="link" aria-label={`${action} ${place}`} onClick={() => choose(cell)}>
                    {action}
                  </button>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {cells.length > maxPlaces && (
        <p className="quiet">{formatNumber(cells.length - maxPlaces)} more places have fewer projects.</p>
      )}
    </div>
  )
}
