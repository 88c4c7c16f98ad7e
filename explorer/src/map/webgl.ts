/** hasWebGL reports whether this browser can draw the map. */
export function hasWebGL(): boolean {
  return document.createElement('canvas').getContext('webgl2') !== null
}
