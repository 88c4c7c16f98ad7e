import type { Schemas } from '../api/client'

/** Area is a circle or a box on the map, as a filter takes it. */
export type Area = Schemas['Area']

/** The largest radius that the service takes, in metres. */
export const maxRadius = 20_100_000

/** readNumber reads a number as JSON spells it; anything else is undefined. */
export function readNumber(text: string): number | undefined {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return undefined
  const n = Number(text)
  return Number.isFinite(n) ? n : undefined
}

const between = (n: number | undefined, least: number, most: number) => n !== undefined && least <= n && n <= most

/** isArea reports whether the service takes the area. */
export function isArea(area: Area): boolean {
  if ('near' in area) {
    const { latitude, longitude, radius_m } = area.near
    return between(latitude, -90, 90) && between(longitude, -180, 180) && between(radius_m, 1, maxRadius)
  }
  const { north, south, east, west } = area.within
  return between(south, -90, 90) && between(north, south, 90) && between(east, -180, 180) && between(west, -180, 180)
}

/** parseArea reads LATITUDE,LONGITUDE,2km or SOUTH..NORTH,WEST..EAST, as the command line does. */
export function parseArea(text: string): Area | undefined {
  const parts = text.split(',')
  const [first = '', second = '', third = ''] = parts
  let area: Area
  if (parts.length === 3) {
    const [, amount = '', unit] = /^(.*?)(k?m)$/.exec(third) ?? []
    const radius = readNumber(amount) ?? NaN
    area = {
      near: {
        latitude: readNumber(first) ?? NaN,
        longitude: readNumber(second) ?? NaN,
        radius_m: unit === 'km' ? radius * 1000 : radius,
      },
    }
  } else if (parts.length === 2) {
    const ends = (range: string) => range.split('..').map((end) => readNumber(end) ?? NaN)
    const [south = NaN, north = NaN] = ends(first)
    const [west = NaN, east = NaN] = ends(second)
    area = { within: { north, south, east, west } }
  } else return undefined
  return isArea(area) ? area : undefined
}

/** formatArea is the inverse of parseArea. */
export function formatArea(area: Area): string {
  if ('near' in area) {
    const { latitude, longitude, radius_m } = area.near
    return `${latitude},${longitude},${radius_m % 1000 === 0 ? `${radius_m / 1000}km` : `${radius_m}m`}`
  }
  const { north, south, east, west } = area.within
  return `${south}..${north},${west}..${east}`
}
