import './looks.css'
import { ChartColumn, Grid3x3, Map as MapIcon, Table2, type LucideIcon } from 'lucide-react'
import { link } from '../address'
import { useSearch } from './context'
import { format, type Look } from './state'

const looks: { look?: Look; label: string; icon: LucideIcon }[] = [
  { label: 'Table', icon: Table2 },
  { look: 'map', label: 'Map', icon: MapIcon },
  { look: 'chart', label: 'Chart', icon: ChartColumn },
  { look: 'pivot', label: 'Pivot', icon: Grid3x3 },
]

/** Looks links to the same search as a table, a map, a chart and a pivot. */
export function Looks() {
  const { look: current, ...search } = useSearch().state
  return (
    <nav className="looks" aria-label="Looks">
      {looks.map(({ look, label, icon: Icon }) => (
        <a
          key={label}
          {...link(format(look ? { ...search, look } : search))}
          aria-current={look === current ? 'page' : undefined}
        >
          <Icon size={14} aria-hidden />
          {label}
        </a>
      ))}
    </nav>
  )
}
