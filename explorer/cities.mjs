// Makes src/map/cities.json, the cities that the map names: of Natural Earth, which is in the
// public domain (https://www.naturalearthdata.com/downloads/10m-cultural-vectors/10m-populated-places/).
//
//   node cities.mjs ne_10m_populated_places_simple.json >src/map/cities.json
//
// A city is [name, longitude, latitude, zoom from which it is named]. All of Canada and the
// United States are in it, of other countries the larger ones.
import { readFileSync } from 'node:fs'

const { features } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const near = new Set(['CA', 'US'])
const round = (n) => Number(n.toFixed(2))
const cities = features
  .filter(({ properties: p }) => p.scalerank <= (near.has(p.iso_a2) ? 8 : 3))
  .sort((a, b) => a.properties.scalerank - b.properties.scalerank || b.properties.pop_max - a.properties.pop_max)
  .map(({ properties: p, geometry: { coordinates: at } }) => [
    p.name,
    round(at[0]),
    round(at[1]),
    Math.min(7, Math.max(1.5, p.scalerank * 0.75 + 1.2)),
  ])
process.stdout.write(`[\n${cities.map((c) => JSON.stringify(c)).join(',\n')}\n]\n`)
