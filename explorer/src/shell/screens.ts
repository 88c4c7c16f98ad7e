import { Bell, BookMarked, Download, ListFilter, Search, Settings, type LucideIcon } from 'lucide-react'
import { lazy, type ComponentType } from 'react'
import type { Schemas } from '../api/client'
import type { Descriptor } from '../api/queries'
import { SearchScreen } from '../search/search-screen'

export interface ScreenProps {
  workspace: Schemas['GetWorkspaceData']
  descriptors: Descriptor[]
}

export interface Screen {
  /** The first part of its addresses. */
  path: string
  label: string
  icon: LucideIcon
  screen: ComponentType<ScreenProps>
  /** Whether the header leads to it; else another screen does. */
  inHeader: boolean
}

/** searchScreen has the addresses that no other screen has: /, /projects, /accounts, … */
export const searchScreen: Screen = { path: '', label: 'Search', icon: Search, screen: SearchScreen, inHeader: true }

/** screens are those with a path, in the order of the header. Their code is loaded on the first visit (React.lazy). */
export const screens: Screen[] = [
  { path: 'book', label: 'Book', icon: BookMarked, screen: SearchScreen, inHeader: true },
  {
    path: 'views',
    label: 'Views',
    icon: ListFilter,
    screen: lazy(() => import('../views/views-screen')),
    inHeader: true,
  },
  {
    path: 'export',
    label: 'Exports',
    icon: Download,
    screen: lazy(() => import('../export/export-screen')),
    inHeader: false,
  },
  {
    path: 'queue',
    label: 'Signals',
    icon: Bell,
    screen: lazy(() => import('../queue/queue-screen')),
    inHeader: false,
  },
  {
    path: 'settings',
    label: 'Settings',
    icon: Settings,
    screen: lazy(() => import('../settings/settings-screen')),
    inHeader: false,
  },
]

/** screenOf returns the screen of an address. */
export const screenOf = (path: string): Screen => screens.find((s) => s.path === path.split('/')[1]) ?? searchScreen
