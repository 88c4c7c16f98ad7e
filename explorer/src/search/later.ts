import { lazy } from 'react'

// The first screen has neither rows nor a record: the code for them is loaded after it.

const table = () => import('../table/table').then((m) => ({ default: m.Table }))
const bar = () => import('./former-bar').then((m) => ({ default: m.FormerBar }))
const drawer = () => import('../record/record-drawer').then((m) => ({ default: m.RecordDrawer }))

export const Table = lazy(table)
export const FormerBar = lazy(bar)
export const RecordDrawer = lazy(drawer)

/** loadLater loads it when the page is idle. */
export function loadLater(): void {
  const load = () => void Promise.all([table(), bar(), drawer()]).catch(() => undefined)
  // Safari has no such callback.
  if ('requestIdleCallback' in window) requestIdleCallback(load, { timeout: 2000 })
  else setTimeout(load, 500)
}
