import { lazy, type ComponentType } from 'react'
import { SearchScreen } from './search/search-screen'
import type { Screen, ScreenProps } from './shell/screens'

/** components show the screens. Code that the first page does not need is loaded on the first visit (React.lazy). */
export const components: Record<Screen['path'], ComponentType<ScreenProps>> = {
  '': SearchScreen,
  book: SearchScreen,
  views: lazy(() => import('./views/views-screen')),
  export: lazy(() => import('./export/export-screen')),
  boards: lazy(() => import('./boards/boards-screen')),
  queue: lazy(() => import('./queue/queue-screen')),
  settings: lazy(() => import('./settings/settings-screen')),
}
