import type {
  FilterSpecification,
  GeoJSONSourceSpecification,
  LayerSpecification,
  StyleSpecification,
} from 'maplibre-gl'
import { colourOf } from '../ui/colour'

const names = ['ground', 'ground-2', 'ground-3', 'line', 'line-strong', 'text-2', 'text-3', 'accent'] as const
export type Colours = Record<(typeof names)[number], string>

/** colours reads the tokens of the theme: WebGL does not know CSS. */
export function colours(): Colours {
  return Object.fromEntries(names.map((name) => [name, colourOf(`--${name}`)])) as Colours
}

/** layersOf are the layers of the map, from below. */
export function layersOf(c: Colours): LayerSpecification[] {
  const outlines = (kind: string): { source: string; filter: FilterSpecification } => ({
    source: 'outlines',
    filter: ['==', ['get', 'kind'], kind],
  })
  return [
    { id: 'sea', type: 'background', paint: { 'background-color': c['ground-3'] } },
    { id: 'land', type: 'fill', ...outlines('land'), paint: { 'fill-color': c['ground-2'] } },
    { id: 'lake', type: 'fill', ...outlines('lake'), paint: { 'fill-color': c['ground-3'] } },
    { id: 'coast', type: 'line', ...outlines('land'), paint: { 'line-color': c['line-strong'], 'line-width': 0.7 } },
    {
      id: 'province',
      type: 'line',
      ...outlines('province'),
      paint: { 'line-color': c['line-strong'], 'line-width': 0.7 },
    },
    { id: 'border', type: 'line', ...outlines('border'), paint: { 'line-color': c['text-3'], 'line-width': 0.8 } },
    { id: 'place', type: 'fill', source: 'place', paint: { 'fill-color': c.accent, 'fill-opacity': 0.08 } },
    { id: 'place-line', type: 'line', source: 'place', paint: { 'line-color': c.accent, 'line-width': 1.5 } },
    {
      id: 'points',
      type: 'circle',
      source: 'points',
      paint: {
        'circle-radius': 5,
        'circle-color': c.accent,
        'circle-stroke-color': c.ground,
        'circle-stroke-width': 1.5,
      },
    },
  ]
}

const empty: GeoJSONSourceSpecification = { type: 'geojson', data: { type: 'FeatureCollection', features: [] } }

/** styleOf is a map without tiles, glyphs or sprites: its data comes with the page. */
export function styleOf(c: Colours): StyleSpecification {
  return { version: 8, sources: { outlines: empty, place: empty, points: empty }, layers: layersOf(c) }
}
