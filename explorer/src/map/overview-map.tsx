import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { link } from '../address'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { useWidth } from '../ui/use-width'
import { extentQuery } from './queries'
import { StaticMap } from './static-map'

/** Height of the picture, in pixels. */
const height = 172

/** OverviewMap is a static map of where the projects are. It links to the map. */
export default function OverviewMap() {
  const { workspace, state, body } = useSearch()
  const box = useRef<HTMLAnchorElement>(null)
  const width = useWidth(box)
  const extent = useQuery(extentQuery(useQueryClient(), workspace.id, body))
  const found = extent.data
  if (found === null || extent.isError) return null
  return (
    <section className="card">
      <h2>Where they are</h2>
      <a
        ref={box}
        className="static-map"
        aria-label="Open the map"
        {...link(format({ ...state, look: 'map' }))}
        // The map is there sooner.
        onPointerEnter={() => void import('./map-canvas')}
      >
        {found && width > 0 ? (
          <>
            <StaticMap box={found.box} cells={found.cells} label="Projects on a map" width={width} height={height} />
            <span className="open">Open the map</span>
          </>
        ) : (
          <div className="skeleton" style={{ height }} />
        )}
      </a>
    </section>
  )
}
