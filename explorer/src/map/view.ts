import type { LngLatBounds, Map as MapGL } from 'maplibre-gl'
import type { Box } from '../search/place'

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

/** boxOfBounds is what is in sight. */
export function boxOfBounds(bounds: LngLatBounds): Box {
  return { north: bounds.getNorth(), south: bounds.getSouth(), east: bounds.getEast(), west: bounds.getWest() }
}
