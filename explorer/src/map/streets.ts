import { addProtocol, type LayerSpecification, type Map as MapGL, type VectorSourceSpecification } from 'maplibre-gl'
import type { Colours } from './style'

/** MapTiles is the server's configuration of map tiles. */
interface MapTiles {
  /** The address of a tile, or that of an archive; absent: there are none. */
  url?: string
  archive: boolean
  attribution?: string
}

/** What the streets are drawn beneath. */
const above = 'place'
/** Tiles of an origin are requested up to this zoom, and scaled beyond. */
const maxTileZoom = 14

const font = ['Inter Variable', 'sans-serif']

/**
 * addBase draws streets beneath the areas, or without tiles the names of cities. It returns the
 * attribution of the tiles.
 */
export async function addBase(map: MapGL, colours: Colours, isRemoved: () => boolean): Promise<string | undefined> {
  const tiles = await tilesOf()
  const source = tiles.url ? await sourceOf(tiles.url, tiles.archive).catch(() => undefined) : undefined
  if (isRemoved()) return undefined
  if (!source) {
    await addCities(map, colours, isRemoved)
    return undefined
  }
  map.addSource('streets', source)
  for (const layer of streetLayers(colours)) map.addLayer(layer, above)
  return tiles.attribution
}

/** tilesOf reads the configuration; without an answer there are no tiles. */
async function tilesOf(): Promise<MapTiles> {
  try {
    const response = await fetch('/map/tiles.json')
    if (response.ok) return (await response.json()) as MapTiles
  } catch {
    // The map is drawn without streets.
  }
  return { archive: false }
}

/**
 * sourceOf is the source of the map. An archive is read by ranges, by a library that is loaded
 * with the first one.
 */
async function sourceOf(url: string, archive: boolean): Promise<VectorSourceSpecification> {
  if (!archive) return { type: 'vector', tiles: [url], maxzoom: maxTileZoom }
  const { PMTiles, Protocol } = await import('pmtiles')
  const address = new URL(url, location.href).href
  const file = new PMTiles(address)
  const { minZoom, maxZoom } = await file.getHeader()
  const protocol = new Protocol()
  protocol.add(file)
  addProtocol('pmtiles', protocol.tile)
  return { type: 'vector', tiles: [`pmtiles://${address}/{z}/{x}/{y}`], minzoom: minZoom, maxzoom: maxZoom }
}

async function addCities(map: MapGL, colours: Colours, isRemoved: () => boolean) {
  const { default: cities } = await import('./cities.json')
  if (isRemoved()) return
  const features = cities.map(([name, longitude, latitude, zoom], rank): GeoJSON.Feature => ({
    type: 'Feature',
    properties: { name, zoom, rank },
    geometry: { type: 'Point', coordinates: [longitude as number, latitude as number] },
  }))
  map.addSource('cities', { type: 'geojson', data: { type: 'FeatureCollection', features } })
  for (const layer of cityLayers(colours)) map.addLayer(layer, above)
}

/** label is the style of names: the colour of quiet text, with a halo of the background. */
const label = (c: Colours) => ({
  'text-color': c['text-2'],
  'text-halo-color': c['ground-2'],
  'text-halo-width': 1.5,
})

/** cityLayers name the cities of Natural Earth. */
export function cityLayers(c: Colours): LayerSpecification[] {
  return [
    {
      id: 'cities',
      type: 'symbol',
      source: 'cities',
      filter: ['<=', ['get', 'zoom'], ['zoom']],
      layout: {
        'text-field': ['get', 'name'],
        'text-font': font,
        'text-size': 11,
        'text-padding': 6,
        // Beneath the circle of its projects.
        'text-anchor': 'top',
        'text-offset': [0, 1.2],
        'symbol-sort-key': ['get', 'rank'],
      },
      paint: label(c),
    },
  ]
}

/**
 * streetLayers draw tiles of the schema of OpenMapTiles, and of that of Protomaps: their layers have other names. A
 * layer that the tiles do not have draws nothing.
 */
export function streetLayers(c: Colours): LayerSpecification[] {
  const from = (layer: string) => ({ source: 'streets', 'source-layer': layer })
  const roads = (id: string, layer: string, kinds: unknown[], width: number, minzoom: number): LayerSpecification => ({
    id,
    type: 'line',
    ...from(layer),
    minzoom,
    filter: ['match', ['coalesce', ['get', 'class'], ['get', 'kind']], kinds, true, false] as never,
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint: {
      'line-color': width > 1 ? c['line-strong'] : c.line,
      'line-width': ['interpolate', ['exponential', 1.6], ['zoom'], minzoom, width / 2, 18, width * 10],
    },
  })
  const major = ['motorway', 'trunk', 'highway']
  const middle = ['primary', 'secondary', 'tertiary', 'major_road', 'medium_road']
  const minor = ['minor', 'service', 'minor_road', 'street', 'residential']
  const names = (id: string, layer: string, rest: object): LayerSpecification => ({
    id,
    type: 'symbol',
    ...from(layer),
    ...rest,
    layout: {
      'text-field': ['coalesce', ['get', 'name'], ''],
      'text-font': font,
      'text-size': 11,
      ...(rest as { layout?: object }).layout,
    },
    paint: label(c),
  })
  const along = { minzoom: 14, layout: { 'symbol-placement': 'line' as const, 'text-size': 10 } }
  const settled = ['city', 'town', 'village', 'suburb', 'neighbourhood', 'locality', 'neighborhood', 'macrohood']
  const placed = {
    filter: ['match', ['coalesce', ['get', 'class'], ['get', 'kind']], settled, true, false],
    layout: { 'text-padding': 6 },
  }
  return [
    { id: 'tile-water', type: 'fill', ...from('water'), paint: { 'fill-color': c['ground-3'] }, filter: areas },
    { id: 'tile-park', type: 'fill', ...from('park'), paint: { 'fill-color': c['ground-3'], 'fill-opacity': 0.4 } },
    { id: 'tile-building', type: 'fill', ...from('building'), minzoom: 14, paint: { 'fill-color': c.line } },
    { id: 'tile-buildings', type: 'fill', ...from('buildings'), minzoom: 14, paint: { 'fill-color': c.line } },
    ...['transportation', 'roads'].flatMap((layer) => [
      roads(`${layer}-minor`, layer, minor, 1, 12),
      roads(`${layer}-middle`, layer, middle, 1.4, 8),
      roads(`${layer}-major`, layer, major, 2, 5),
    ]),
    names('street-names', 'transportation_name', along),
    names('road-names', 'roads', along),
    names('place-names', 'place', placed),
    names('places-names', 'places', placed),
  ]
}

/** Water has lines too: rivers, and the shores of lakes. */
const areas = ['==', ['geometry-type'], 'Polygon'] as never
