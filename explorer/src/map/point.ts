/** Point is a place on the screen, in pixels from the corner of the map. */
export type Point = [number, number]

/** pointUnder is where the pointer is on the element that listens to it. */
export function pointUnder(e: React.MouseEvent): Point {
  const { left, top } = e.currentTarget.getBoundingClientRect()
  return [e.clientX - left, e.clientY - top]
}
