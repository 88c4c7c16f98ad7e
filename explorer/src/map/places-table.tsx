import { formatNumber } from '../format'
import type { Cell } from './tiles'

interface Props {
  cells: Cell[]
  action: string
  choose: (cell: Cell) => void
}

/** The most places that the table lists. */
const most = 200

const degrees = (n: number, positive: string, negative: string) =>
  `${Math.abs(n).toFixed(3)}° ${n < 0 ? negative : positive}`

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
          {cells.slice(0, most).map((cell) => {
            const around = `${degrees(cell.latitude, 'N', 'S')}, ${degrees(cell.longitude, 'E', 'W')}`
            return (
              <tr key={`${cell.box.north},${cell.box.west}`}>
                <th scope="row">{around}</th>
                <td>{formatNumber(cell.count)}</td>
                <td>
                  <button className="link" aria-label={`${action} ${around}`} onClick={() => choose(cell)}>
                    {action}
                  </button>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {cells.length > most && (
        <p className="quiet">{formatNumber(cells.length - most)} more places have fewer projects.</p>
      )}
    </div>
  )
}
