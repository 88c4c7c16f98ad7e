import { useState } from 'react'
import { readNumber } from '../search/conditions'
import { formatPlace, parsePlace, type Place } from '../search/place'
import { PlaceFinder } from './place-finder'

interface Props {
  mode: 'near' | 'within'
  place: Place | undefined
  set: (place: Place) => void
}

const labels = {
  near: { latitude: 'Latitude', longitude: 'Longitude', radius: 'Radius in km' },
  within: { south: 'South', north: 'North', west: 'West', east: 'East' },
}

const rules = {
  near: 'Latitude is from -90 to 90, longitude from -180 to 180, the radius from 0.001 to 20,100 km.',
  within: 'South and north are from -90 to 90, south below north; west and east from -180 to 180.',
}

/** PlaceEditor edits a circle or a box as numbers. It takes effect when all are given. */
export function PlaceEditor({ mode, place, set }: Props) {
  const [texts, setTexts] = useState(() => textsOf(place))
  const next = placeOf(mode, texts)
  const names = Object.entries(labels[mode])
  const isWhole = names.every(([name]) => texts[name]?.trim())
  const apply = () => {
    if (next && (!place || formatPlace(next) !== formatPlace(place))) set(next)
  }
  return (
    <>
      {mode === 'near' && (
        <PlaceFinder
          before={place && 'near' in place ? place.near.radius_m : undefined}
          found={(next) => {
            setTexts(textsOf(next))
            set(next)
          }}
        />
      )}
      <form
        className="place"
        onSubmit={(e) => {
          e.preventDefault()
          apply()
        }}
      >
        {names.map(([name, label]) => (
          <label key={name}>
            {label}
            <input
              type="text"
              inputMode="decimal"
              value={texts[name] ?? ''}
              onChange={(e) => setTexts({ ...texts, [name]: e.target.value })}
              onBlur={apply}
            />
          </label>
        ))}
        {isWhole && !next && <p className="problem">{rules[mode]}</p>}
        <p className="quiet">Degrees north and east are positive: Calgary is at 51.04, -114.07.</p>
        <button className="sr" tabIndex={-1}>
          Apply
        </button>
      </form>
    </>
  )
}

function textsOf(place: Place | undefined): Record<string, string> {
  if (!place || 'polygon' in place) return {}
  if ('within' in place) return Object.fromEntries(Object.entries(place.within).map(([name, n]) => [name, String(n)]))
  const { latitude, longitude, radius_m } = place.near
  return { latitude: String(latitude), longitude: String(longitude), radius: String(radius_m / 1000) }
}

/** placeOf is the place in the texts, if it is valid. */
function placeOf(mode: 'near' | 'within', texts: Record<string, string>): Place | undefined {
  const number = (name: string) => readNumber(texts[name]?.trim() ?? '') ?? NaN
  return parsePlace(
    mode === 'near'
      ? `${number('latitude')},${number('longitude')},${number('radius')}km`
      : `${number('south')}..${number('north')},${number('west')}..${number('east')}`,
  )
}
