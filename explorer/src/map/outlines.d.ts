// Made by outlines.ts while the page is built.
declare module 'virtual:outlines/*' {
  const outlines: GeoJSON.FeatureCollection<GeoJSON.Geometry, { kind: 'land' | 'lake' | 'province' | 'border' }>
  export default outlines
}
