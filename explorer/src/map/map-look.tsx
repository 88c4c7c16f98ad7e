export default function MapLook(_: { rows: unknown; counts: unknown }) {
  return null
}
