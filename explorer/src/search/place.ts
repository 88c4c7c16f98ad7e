import { formatNumber } from '../format'
import { formatCorners, parseCorners, polygonProblem, type Corner } from './polygon'

/** Box is in degrees; west is greater than east if it crosses the antimeridian. */
export interface Box {
  north: number
  south: number
  east: number
  west: number
}

/** Circle has a radius in metres. */
export interface Circle {
  latitude: number
  longitude: number
  radius_m: number
}

/** Place is a condition on where a record is: in a circle, in a box or in a polygon. */
export type Place =
  { kind: 'place'; near: Circle } | { kind: 'place'; within: Box } | { kind: 'place'; polygon: Corner[] }

/** The largest radius that the service takes, in metres. */
const maxRadius = 20_100_000

/** Decimals of degrees in the address, about a metre. */
const decimals = 5

const round = (n: number, digits = decimals) => Number(n.toFixed(digits))
const isLatitude = (n: number) => Math.abs(n) <= 90
const isLongitude = (n: number) => Math.abs(n) <= 180

/**
 * parsePlace reads LATITUDE,LONGITUDE,RADIUS with the radius in m or km, SOUTH..NORTH,WEST..EAST, or
 * LATITUDE,LONGITUDE of three corners or more: the forms of `atlas search --filter location=…`.
 */
export function parsePlace(text: string): Place | undefined {
  const number = String.raw`\s*([-+]?[\d.]+)\s*`
  const circle = new RegExp(`^${number},${number},${number}(k?m)\\s*$`).exec(text)
  if (circle) {
    const [latitude = NaN, longitude = NaN, radius = NaN] = circle.slice(1, 4).map(Number)
    const radius_m = circle[4] === 'km' ? radius * 1000 : radius
    const valid = isLatitude(latitude) && isLongitude(longitude) && radius_m >= 1 && radius_m <= maxRadius
    return valid ? { kind: 'place', near: { latitude, longitude, radius_m } } : undefined
  }
  const end = String.raw`\s*([-+]?\d+\.?\d*|[-+]?\.\d+)\s*`
  const box = new RegExp(`^${end}\\.\\.${end},${end}\\.\\.${end}$`).exec(text)
  if (!box) {
    const polygon = parseCorners(text)
    return polygon && !polygonProblem(polygon) ? { kind: 'place', polygon } : undefined
  }
  const [south = NaN, north = NaN, west = NaN, east = NaN] = box.slice(1).map(Number)
  const valid = isLatitude(south) && isLatitude(north) && south <= north && isLongitude(west) && isLongitude(east)
  return valid ? { kind: 'place', within: { north, south, east, west } } : undefined
}

/** formatPlace is the inverse of parsePlace. */
export function formatPlace(place: Place): string {
  if ('polygon' in place) return formatCorners(place.polygon)
  if ('within' in place) {
    const { north, south, east, west } = place.within
    return `${south}..${north},${west}..${east}`
  }
  const { latitude, longitude, radius_m } = place.near
  return `${latitude},${longitude},${radius_m < 1000 ? `${radius_m}m` : `${radius_m / 1000}km`}`
}

/** placeValue is the value of the filter. */
export function placeValue(place: Place) {
  if ('polygon' in place) return { polygon: place.polygon }
  return 'near' in place ? { near: place.near } : { within: place.within }
}

/** insidePolygon is the condition of corners that were drawn, undefined if rounding leaves no area. */
export function insidePolygon(corners: Corner[]): Place | undefined {
  const polygon = corners
    .map(({ latitude, longitude }) => ({ latitude: round(latitude), longitude: round(longitude) }))
    .filter((c, i, all) => {
      const before = all.at(i - 1)
      return c.latitude !== before?.latitude || c.longitude !== before.longitude
    })
  return polygonProblem(polygon) ? undefined : { kind: 'place', polygon }
}

/** withinBox is the condition of a box that was drawn. */
export function withinBox({ north, south, east, west }: Box): Place {
  const latitude = (n: number) => round(Math.min(90, Math.max(-90, n)))
  const longitude = (n: number) => round(Math.min(180, Math.max(-180, n)))
  return {
    kind: 'place',
    within: { north: latitude(north), south: latitude(south), east: longitude(east), west: longitude(west) },
  }
}

/** nearPoint is the condition of a circle that was drawn. */
export function nearPoint({ latitude, longitude, radius_m }: Circle): Place {
  const radius = Math.min(maxRadius, Math.max(1, radius_m))
  return {
    kind: 'place',
    near: {
      latitude: round(latitude),
      longitude: round(longitude),
      radius_m: radius < 1000 ? Math.round(radius) : Math.round(radius / 10) * 10,
    },
  }
}

/**
 * phrasePlace continues "Location": "is within 2 km of 51.0447, -114.0719" or "is between 50.84° and
 * 51.21° N, 114.3° and 113.9° W".
 */
export function phrasePlace(place: Place): string {
  if ('within' in place) {
    const { north, south, east, west } = place.within
    return `is between ${ends(south, north, side.latitude)}, ${ends(west, east, side.longitude)}`
  }
  if ('polygon' in place) {
    const { north, south, east, west } = around(place)
    const middle = `${((north + south) / 2).toFixed(4)}, ${((east + west) / 2).toFixed(4)}`
    return `is in an area with ${place.polygon.length} corners around ${middle}`
  }
  const { latitude, longitude, radius_m } = place.near
  return `is within ${formatMetres(radius_m)} of ${latitude.toFixed(4)}, ${longitude.toFixed(4)}`
}

/** side is on which side of the equator or of Greenwich an angle is. */
export const side = {
  latitude: (n: number) => (n < 0 ? 'S' : 'N'),
  longitude: (n: number) => (n < 0 ? 'W' : 'E'),
}

/** ends are two angles, with the precision that their distance needs. */
function ends(from: number, to: number, side: (n: number) => string): string {
  const digits = Math.min(decimals, Math.max(1, 1 - Math.floor(Math.log10(Math.abs(to - from)))))
  const show = (n: number) => `${round(Math.abs(n), digits)}°`
  const first = side(from) === side(to) ? show(from) : `${show(from)} ${side(from)}`
  return `${first} and ${show(to)} ${side(to)}`
}

/** formatMetres is a distance for people. */
export function formatMetres(metres: number): string {
  if (metres < 1000) return `${formatNumber(metres)} m`
  return `${(metres / 1000).toLocaleString(undefined, { maximumFractionDigits: metres < 100_000 ? 1 : 0 })} km`
}

/** The mean radius of the earth in metres. */
const earth = 6_371_008.7714
const radians = (degrees: number) => (degrees * Math.PI) / 180
const degrees = (radians: number) => (radians * 180) / Math.PI

/** distance is the distance of two points in metres, on a sphere as the service measures. */
export function distance(a: Omit<Circle, 'radius_m'>, b: Omit<Circle, 'radius_m'>): number {
  const north = Math.sin(radians(b.latitude - a.latitude) / 2) ** 2
  const east = Math.sin(radians(b.longitude - a.longitude) / 2) ** 2
  return 2 * earth * Math.asin(Math.sqrt(north + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * east))
}

/** around is the box of a place. */
export function around(place: Place): Box {
  if ('within' in place) return place.within
  const [longitudes, latitudes] = [0, 1].map((i) => outline(place).map((p) => p[i] as number)) as [number[], number[]]
  return {
    north: Math.max(...latitudes),
    south: Math.min(...latitudes),
    east: Math.max(...longitudes),
    west: Math.min(...longitudes),
  }
}

/** outline is the border of a place as a closed line of [longitude, latitude]. */
export function outline(place: Place): [number, number][] {
  if ('within' in place) {
    const { north, south, west } = place.within
    const east = place.within.east < west ? place.within.east + 360 : place.within.east
    return [
      [west, south],
      [east, south],
      [east, north],
      [west, north],
      [west, south],
    ]
  }
  if ('polygon' in place) {
    const corners = place.polygon.map((c): [number, number] => [c.longitude, c.latitude])
    return [...corners, ...corners.slice(0, 1)]
  }
  const { latitude, longitude, radius_m } = place.near
  const angle = radius_m / earth
  const from = radians(latitude)
  return Array.from({ length: 97 }, (_, i) => {
    const bearing = (i / 96) * 2 * Math.PI
    const to = Math.asin(Math.sin(from) * Math.cos(angle) + Math.cos(from) * Math.sin(angle) * Math.cos(bearing))
    const turn = Math.atan2(
      Math.sin(bearing) * Math.sin(angle) * Math.cos(from),
      Math.cos(angle) - Math.sin(from) * Math.sin(to),
    )
    return [longitude + degrees(turn), degrees(to)]
  })
}
