import './static-map.css'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Box } from '../search/place'
import { mercator, type Cell } from './tiles'

/** Width and height of the inset with the surrounding region, in pixels. */
const inset = { width: 124, height: 92 }
/** An extent below this many degrees has an inset, which shows so many degrees around it. */
const region = { below: 12, around: 16 }

interface Props {
  /** What is shown. */
  box: Box
  cells: Cell[]
  label: string
  width: number
  height: number
}

/** StaticMap is an image of counted cells, without interaction. */
export function StaticMap({ box, cells, label, width, height }: Props) {
  const { data: land } = useQuery({
    queryKey: ['outlines'],
    staleTime: Infinity,
    queryFn: async () => (await import('virtual:outlines/coarse')).default,
  })
  const most = Math.max(1, ...cells.map((c) => c.count))
  const place = useMemo(() => projection(box, width, height), [box, width, height])
  if (width === 0) return null
  return (
    <>
      <svg width={width} height={height} role="img" aria-label={label}>
        {land && <Outlines land={land} place={place} />}
        {cells.map(({ box: b, count }) => {
          const [left, top] = place(b.west, b.north)
          const [right, bottom] = place(b.east, b.south)
          return (
            <rect
              key={`${b.north},${b.west}`}
              className="tile"
              x={left}
              y={top}
              width={Math.max(1, right - left - 1)}
              height={Math.max(1, bottom - top - 1)}
              opacity={0.15 + 0.85 * Math.sqrt(count / most)}
            />
          )
        })}
      </svg>
      {land && box.east - box.west < region.below && <Inset land={land} box={box} />}
    </>
  )
}

type Projection = (longitude: number, latitude: number) => [number, number]
type Land = GeoJSON.FeatureCollection<GeoJSON.Geometry, { kind: string }>

/** projection puts a box into the middle of a picture. */
function projection({ north, south, east, west }: Box, width: number, height: number): Projection {
  const [left, top] = mercator(west, north)
  const [right, bottom] = mercator(east, south)
  const scale = 0.9 * Math.min(width / (right - left), height / (bottom - top))
  return (longitude, latitude) => {
    const [x, y] = mercator(longitude, latitude)
    return [width / 2 + (x - (left + right) / 2) * scale, height / 2 + (y - (top + bottom) / 2) * scale]
  }
}

/** Outlines draws land and borders, to a tenth of a pixel. */
function Outlines({ land, place }: { land: Land; place: Projection }) {
  const paths = useMemo(() => land.features.map(({ geometry }) => pathOf(geometry, place)), [land, place])
  return paths.map((d, i) => <path key={i} className={land.features[i]?.properties.kind} d={d} />)
}

function pathOf(geometry: GeoJSON.Geometry, place: Projection): string {
  const line = (points: GeoJSON.Position[]) =>
    points.map(([x = 0, y = 0], i) => `${i === 0 ? 'M' : 'L'}${place(x, y).map((n) => n.toFixed(1))}`).join('')
  switch (geometry.type) {
    case 'Polygon':
    case 'MultiLineString':
      return geometry.coordinates.map(line).join('')
    case 'MultiPolygon':
      return geometry.coordinates.flat().map(line).join('')
    case 'LineString':
      return line(geometry.coordinates)
  }
  return ''
}

/** Inset shows the country around. */
function Inset({ land, box }: { land: Land; box: Box }) {
  const longitude = (box.east + box.west) / 2
  const latitude = (box.north + box.south) / 2
  const { width, height } = inset
  const { around } = region
  const place = useMemo(
    () =>
      projection(
        {
          north: latitude + around / 2,
          south: latitude - around / 2,
          east: longitude + around,
          west: longitude - around,
        },
        width,
        height,
      ),
    [longitude, latitude, width, height, around],
  )
  const [x, y] = place(longitude, latitude)
  return (
    <svg className="inset" width={width} height={height} aria-hidden="true">
      <Outlines land={land} place={place} />
      <circle cx={x} cy={y} r={4} />
    </svg>
  )
}
