import { useState } from 'react'
import { isArea, maxRadius, readNumber, type Area } from '../search/area'

interface Props {
  mode: 'near' | 'within'
  area: Area | undefined
  set: (area: Area) => void
}

const labels = {
  near: { latitude: 'Latitude', longitude: 'Longitude', radius: 'Radius in km' },
  within: { south: 'South', north: 'North', west: 'West', east: 'East' },
}

/** AreaEditor takes a circle or a box as numbers. It takes effect when all are there. */
export function AreaEditor({ mode, area, set }: Props) {
  const [texts, setTexts] = useState(() => textsOf(area))
  const number = (name: string) => readNumber(texts[name]?.trim() ?? '')
  const next = areaOf(mode, number)
  const names = Object.entries(labels[mode])
  const isWhole = names.every(([name]) => texts[name]?.trim())
  return (
    <form
      className="area"
      onSubmit={(e) => {
        e.preventDefault()
        if (next) set(next)
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
            onBlur={() => next && set(next)}
          />
        </label>
      ))}
      {isWhole && !next && <p className="problem">{rules[mode]}</p>}
      <p className="quiet">Degrees north and east are positive: Calgary is at 51.04, -114.07.</p>
      <button className="sr">Apply</button>
    </form>
  )
}

const rules = {
  near: `Latitude is from -90 to 90, longitude from -180 to 180, the radius from 0.001 to ${(maxRadius / 1000).toLocaleString()} km.`,
  within: 'South and north are from -90 to 90, south below north; west and east from -180 to 180.',
}

function textsOf(area: Area | undefined): Record<string, string> {
  if (!area) return {}
  if ('near' in area) {
    const { latitude, longitude, radius_m } = area.near
    return { latitude: String(latitude), longitude: String(longitude), radius: String(radius_m / 1000) }
  }
  return Object.fromEntries(Object.entries(area.within).map(([name, n]) => [name, String(n)]))
}

function areaOf(mode: 'near' | 'within', number: (name: string) => number | undefined): Area | undefined {
  const of = (name: string) => number(name) ?? NaN
  const area: Area =
    mode === 'near'
      ? { near: { latitude: of('latitude'), longitude: of('longitude'), radius_m: Math.round(of('radius') * 1000) } }
      : { within: { south: of('south'), north: of('north'), west: of('west'), east: of('east') } }
  return isArea(area) ? area : undefined
}
