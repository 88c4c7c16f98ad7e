import { useState } from 'react'
import { formatPlace, type Place } from '../search/place'
import { formatCorners, parseCorners, polygonProblem } from '../search/polygon'

interface Props {
  place: Place | undefined
  set: (place: Place) => void
}

/** PolygonEditor edits the corners of an area as text, one per line; the map draws them. */
export function PolygonEditor({ place, set }: Props) {
  const [text, setText] = useState(place && 'polygon' in place ? formatCorners(place.polygon, '\n') : '')
  const corners = parseCorners(text)
  const problem = corners ? polygonProblem(corners) : 'A corner is latitude, longitude, such as 51.04, -114.07.'
  const apply = () => {
    if (!corners || problem) return
    const next: Place = { kind: 'place', polygon: corners }
    if (!place || formatPlace(next) !== formatPlace(place)) set(next)
  }
  return (
    <form
      className="place"
      onSubmit={(e) => {
        e.preventDefault()
        apply()
      }}
    >
      <label className="corners">
        Corners
        <textarea rows={6} value={text} onChange={(e) => setText(e.target.value)} onBlur={apply} />
      </label>
      {text.trim() !== '' && problem && <p className="problem">{problem}</p>}
      <p className="quiet">Latitude, longitude of each corner on its line. The map draws an area with the mouse.</p>
      <button className="button">Apply</button>
    </form>
  )
}
