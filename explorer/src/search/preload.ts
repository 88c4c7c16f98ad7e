import { lazy } from 'react'

// The first screen has neither rows nor a record: the code for them is loaded after it.

const table = () => import('../table/table').then((m) => ({ default: m.Table }))
const previousRowsBar = () => import('./previous-rows-bar').then((m) => ({ default: m.PreviousRowsBar }))
const drawer = () => import('../record/record-drawer').then((m) => ({ default: m.RecordDrawer }))

export const Table = lazy(table)
export const PreviousRowsBar = lazy(previousRowsBar)
export const RecordDrawer = lazy(drawer)

/** preload loads this code when the page is idle. */
export function preload(): void {
  const load = () => void Promise.all([table(), previousRowsBar(), drawer()]).catch(() => undefined)
  // Safari has no such callback.
  if ('requestIdleCallback' in window) requestIdleCallback(load, { timeout: 2000 })
  else setTimeout(load, 500)
}
