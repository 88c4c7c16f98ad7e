/** Corner is a point in degrees. */
export interface Corner {
  latitude: number
  longitude: number
}

/** What the service takes: corners, and square degrees. */
export const minCorners = 3
export const maxCorners = 100
const maxArea = 10

type Edge = [Corner, Corner]

const edgesOf = (corners: Corner[]): Edge[] =>
  corners.map((c, i) => [c, corners[(i + 1) % corners.length] ?? c] as const).map(([a, b]) => [a, b])

/** On which side of an edge a corner is: positive, negative, or 0 on its line. */
const side = ([a, b]: Edge, c: Corner) =>
  Math.sign(
    (b.longitude - a.longitude) * (c.latitude - a.latitude) - (b.latitude - a.latitude) * (c.longitude - a.longitude),
  )

const apart = (a: number, b: number, c: number, d: number) =>
  Math.max(a, b) < Math.min(c, d) || Math.max(c, d) < Math.min(a, b)

function meet(e: Edge, f: Edge): boolean {
  if (apart(e[0].latitude, e[1].latitude, f[0].latitude, f[1].latitude)) return false
  if (apart(e[0].longitude, e[1].longitude, f[0].longitude, f[1].longitude)) return false
  return side(e, f[0]) * side(e, f[1]) <= 0 && side(f, e[0]) * side(f, e[1]) <= 0
}

/** foldsBack reports whether an edge lies on the one before it. */
function foldsBack([a, b]: Edge, [, c]: Edge): boolean {
  if (side([a, b], c) !== 0) return false
  const along = (a.longitude - b.longitude) * (c.longitude - b.longitude)
  return along + (a.latitude - b.latitude) * (c.latitude - b.latitude) > 0
}

/** crosses reports whether the border of a polygon, or a line through the corners, intersects itself. */
export function crosses(corners: Corner[], closed = true): boolean {
  const edges = closed ? edgesOf(corners) : edgesOf(corners).slice(0, -1)
  return edges.some((e, i) =>
    edges.slice(i + 1).some((f, after) => {
      const j = i + 1 + after
      if (j === i + 1) return foldsBack(e, f)
      if (closed && i === 0 && j === edges.length - 1) return foldsBack(f, e)
      return meet(e, f)
    }),
  )
}

/** polygonProblem explains what is wrong with a polygon; the service decides exactly. */
export function polygonProblem(corners: Corner[]): string | undefined {
  if (corners.length < minCorners) return `An area needs ${minCorners} corners.`
  if (corners.length > maxCorners) return `An area has at most ${maxCorners} corners.`
  const edges = edgesOf(corners)
  if (edges.some(([a, b]) => a.latitude === b.latitude && a.longitude === b.longitude))
    return 'Two corners are the same.'
  if (edges.some(([a, b]) => Math.abs(a.longitude - b.longitude) > 180)) return 'An area must not cross the dateline.'
  if (crosses(corners)) return 'The border crosses itself.'
  const [o = { latitude: 0, longitude: 0 }] = corners
  const doubled = edges.reduce(
    (sum, [a, b]) =>
      sum +
      (a.longitude - o.longitude) * (b.latitude - o.latitude) -
      (b.longitude - o.longitude) * (a.latitude - o.latitude),
    0,
  )
  if (Math.abs(doubled) / 2 > maxArea) return `An area has at most ${maxArea} square degrees: draw a smaller one.`
  return undefined
}

/** parseCorners reads LATITUDE,LONGITUDE of each corner with blanks or lines between. */
export function parseCorners(text: string): Corner[] | undefined {
  const corners: Corner[] = []
  for (const part of text
    .replaceAll(/\s*,\s*/g, ',')
    .trim()
    .split(/\s+/)) {
    const [, latitude, longitude] = /^([-+]?\d+\.?\d*|[-+]?\.\d+),([-+]?\d+\.?\d*|[-+]?\.\d+)$/.exec(part) ?? []
    const corner = { latitude: Number(latitude), longitude: Number(longitude) }
    if (latitude === undefined || Math.abs(corner.latitude) > 90 || Math.abs(corner.longitude) > 180) return undefined
    corners.push(corner)
  }
  const [first] = corners
  const last = corners.at(-1)
  if (corners.length > 1 && first?.latitude === last?.latitude && first?.longitude === last?.longitude) corners.pop()
  return corners
}

/** formatCorners is the inverse of parseCorners. */
export const formatCorners = (corners: Corner[], between = ' ') =>
  corners.map((c) => `${c.latitude},${c.longitude}`).join(between)
