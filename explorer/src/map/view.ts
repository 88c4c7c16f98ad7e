import type { LngLatBounds, Map as MapGL } from 'maplibre-gl'
import type { Box } from '../search/place'
import { mercator } from './tiles'

/** View is what the map shows: the centre and the zoom. */
export interface View {
  latitude: number
  longitude: number
  zoom: number
}

/** parseView reads `at` of an address: latitude,longitude,zoom. */
export function parseView(at: string | undefined): View | undefined {
  const numbers = at?.split(',').map(Number) ?? []
  const [latitude = NaN, longitude = NaN, zoom = NaN] = numbers
  const valid =
    numbers.length === 3 && Math.abs(latitude) <= 85 && Math.abs(longitude) <= 180 && zoom >= 0 && zoom <= 24
  return valid ? { latitude, longitude, zoom } : undefined
}

/** formatView is the inverse of parseView, to about 10 m. */
export function formatView({ latitude, longitude, zoom }: View): string {
  return [latitude.toFixed(4), longitude.toFixed(4), zoom.toFixed(2)].map(Number).join(',')
}

export function viewOf(map: MapGL): View {
  const { lat, lng } = map.getCenter()
  return { latitude: lat, longitude: lng, zoom: map.getZoom() }
}

/** boxOfBounds is what is visible. */
export function boxOfBounds(bounds: LngLatBounds): Box {
  return { north: bounds.getNorth(), south: bounds.getSouth(), east: bounds.getEast(), west: bounds.getWest() }
}

/** Space around what the map shows as a whole, and the width of a map of zoom 0, in pixels. */
export const padding = 40
const smallest = 512
/** The zoom at which one sees which street a place is in. */
const closest = 15

/** viewOfBox shows all of a box, on a map that is as large as what it shows now. */
export function viewOfBox(box: Box, viewport: { box: Box; view: View }): View {
  const size = ({ north, south, east, west }: Box): [number, number] => {
    const [left, top] = mercator(west, north)
    const [right, bottom] = mercator(east, south)
    return [right - left, bottom - top]
  }
  const pixels = size(viewport.box).map((n) => n * smallest * 2 ** viewport.view.zoom)
  const zooms = size(box).map((n, i) => {
    const room = pixels[i] ?? 0
    return Math.log2(Math.max(room - 2 * padding, room / 2) / (n * smallest))
  })
  const [left, top] = mercator(box.west, box.north)
  const [width, height] = size(box)
  return {
    latitude: (Math.atan(Math.sinh(Math.PI * (1 - 2 * (top + height / 2)))) * 180) / Math.PI,
    longitude: (left + width / 2) * 360 - 180,
    zoom: Math.min(closest, Math.max(0, Math.min(...zooms))),
  }
}
