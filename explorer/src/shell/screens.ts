import {
  Bell,
  BookMarked,
  Download,
  LayoutDashboard,
  ListFilter,
  Search,
  Settings,
  type LucideIcon,
} from 'lucide-react'
import type { Schemas } from '../api/client'
import type { Descriptor } from '../api/queries'

export interface ScreenProps {
  workspace: Schemas['GetWorkspaceData']
  descriptors: Descriptor[]
}

export interface Screen {
  /** The first part of its addresses. screens.ts beside app.tsx has its component. */
  path: '' | 'book' | 'views' | 'boards' | 'export' | 'queue' | 'settings'
  label: string
  icon: LucideIcon
  /** Whether the header links to it; otherwise another screen does. */
  inHeader: boolean
}

/** searchScreen has the addresses that no other screen has: /, /projects, /accounts, … */
export const searchScreen: Screen = { path: '', label: 'Search', icon: Search, inHeader: true }

/** screens are those with a path, in the order of the header. */
export const screens: Screen[] = [
  { path: 'book', label: 'Book', icon: BookMarked, inHeader: true },
  { path: 'views', label: 'Views', icon: ListFilter, inHeader: true },
  { path: 'boards', label: 'Boards', icon: LayoutDashboard, inHeader: true },
  { path: 'export', label: 'Exports', icon: Download, inHeader: false },
  { path: 'queue', label: 'Signals', icon: Bell, inHeader: false },
  { path: 'settings', label: 'Settings', icon: Settings, inHeader: false },
]

/** screenOf returns the screen of an address. */
export const screenOf = (path: string): Screen => screens.find((s) => s.path === path.split('/')[1]) ?? searchScreen
