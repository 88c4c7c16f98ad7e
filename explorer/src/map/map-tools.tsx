import { Circle, Maximize, Minus, Pentagon, Plus, Square } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Place } from '../search/place'
import type { Shape } from './draw'

interface ToolsProps {
  /** What is drawn now. */
  shape: Shape | undefined
  draw: (shape: Shape | undefined) => void
  /** The area that the search has. */
  area: Place | undefined
  clear: () => void
  /** Undefined until something is visible. */
  choose: (() => void) | undefined
}

/** MapTools choose an area of the map. */
export function MapTools({ shape, draw, area, clear, choose }: ToolsProps) {
  const tool = (one: Shape, label: string, icon: ReactNode) => (
    <button className="button" aria-pressed={shape === one} onClick={() => draw(shape === one ? undefined : one)}>
      {icon} {label}
    </button>
  )
  return (
    <div className="tools" role="group" aria-label="Choose an area">
      {tool('box', 'Draw a box', <Square size={14} aria-hidden />)}
      {tool('circle', 'Draw a circle', <Circle size={14} aria-hidden />)}
      {tool(
        'polygon',
        area && 'polygon' in area ? 'Change the area' : 'Draw an area',
        <Pentagon size={14} aria-hidden />,
      )}
      <button className="button" disabled={!choose} onClick={choose}>
        Only what is in sight
      </button>
      {area && (
        <button className="link" onClick={clear}>
          Clear the area
        </button>
      )}
    </div>
  )
}

/** MapZoom zooms in, out, or to the whole search. */
export function MapZoom({ zoom, all }: { zoom: (by: 1 | -1) => void; all: () => void }) {
  return (
    <div className="map-zoom">
      <button className="icon-button" aria-label="Zoom in" onClick={() => zoom(1)}>
        <Plus size={16} aria-hidden />
      </button>
      <button className="icon-button" aria-label="Zoom out" onClick={() => zoom(-1)}>
        <Minus size={16} aria-hidden />
      </button>
      <button className="icon-button" aria-label="Show all" onClick={all}>
        <Maximize size={15} aria-hidden />
      </button>
    </div>
  )
}
