import { gzipSync } from 'node:zlib'

// A writer of the smallest PMTiles archive (version 3): one vector tile of the whole earth. The format is specified in
// https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md and https://github.com/mapbox/vector-tile-spec.

function varint(n: number): number[] {
  return n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))]
}
const zigzag = (n: number) => (n < 0 ? -2 * n - 1 : 2 * n)
const bytes = (field: number, body: number[]) => [...varint(field * 8 + 2), ...varint(body.length), ...body]
const number = (field: number, n: number) => [...varint(field * 8), ...varint(n)]
const text = (field: number, s: string) => bytes(field, [...Buffer.from(s)])

/** Line is a road with its class, as [longitude, latitude]. */
export interface Line {
  kind: string
  points: [number, number][]
}

const extent = 2 ** 20

/** place is where a point is in the tile of the earth. */
function place([longitude, latitude]: [number, number]): [number, number] {
  const angle = (latitude * Math.PI) / 180
  const y = (1 - Math.log(Math.tan(angle) + 1 / Math.cos(angle)) / Math.PI) / 2
  return [Math.round(((longitude + 180) / 360) * extent), Math.round(y * extent)]
}

/** tileOf has a layer `transportation` with the lines. */
function tileOf(lines: Line[]): number[] {
  const kinds = [...new Set(lines.map((l) => l.kind))]
  const features = lines.flatMap(({ kind, points }) => {
    const placed = points.map(place)
    const steps = placed.flatMap(([x, y], i) => {
      const [fromX, fromY] = placed[i - 1] ?? [0, 0]
      return [...varint(zigzag(x - fromX)), ...varint(zigzag(y - fromY))]
    })
    const [first, rest] = [
      varint(zigzag(placed[0]?.[0] ?? 0)).length + varint(zigzag(placed[0]?.[1] ?? 0)).length,
      placed.length - 1,
    ]
    const geometry = [...varint(9), ...steps.slice(0, first), ...varint(rest * 8 + 2), ...steps.slice(first)]
    return bytes(2, [...bytes(2, [0, kinds.indexOf(kind)]), ...number(3, 2), ...bytes(4, geometry)])
  })
  const values = kinds.flatMap((kind) => bytes(4, text(1, kind)))
  const layer = [
    ...number(15, 2),
    ...text(1, 'transportation'),
    ...features,
    ...text(3, 'class'),
    ...values,
    ...number(5, extent),
  ]
  return bytes(3, layer)
}

/** pmtiles is an archive with the lines. */
export function pmtiles(lines: Line[]): Buffer {
  const tile = gzipSync(Buffer.from(tileOf(lines)))
  // One entry: tile 0, a run of 1, its length, its offset and 1.
  const root = gzipSync(Buffer.from([...varint(1), ...varint(0), ...varint(1), ...varint(tile.length), ...varint(1)]))
  const metadata = gzipSync(Buffer.from('{}'))
  const header = Buffer.alloc(127)
  header.write('PMTiles')
  header[7] = 3
  const parts = [root, metadata, Buffer.alloc(0), tile]
  let at = header.length
  parts.forEach((part, i) => {
    header.writeBigUInt64LE(BigInt(at), 8 + 16 * i)
    header.writeBigUInt64LE(BigInt(part.length), 16 + 16 * i)
    at += part.length
  })
  for (const i of [72, 80, 88]) header.writeBigUInt64LE(1n, i) // tiles, entries and contents
  header.set([1, 2, 2, 1, 0, 0], 96) // clustered, gzip of both, vector tiles, zoom 0 to 0
  return Buffer.concat([header, ...parts])
}
