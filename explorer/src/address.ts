import { useSyncExternalStore } from 'react'

// The address of the page is its state. Components read it with useAddress and change it with go;
// the browser's back and forward work without further code.

const listeners = new Set<() => void>()
const tell = () => listeners.forEach((listen) => listen())
addEventListener('popstate', tell)

const subscribe = (listen: () => void) => {
  listeners.add(listen)
  return () => {
    listeners.delete(listen)
  }
}

/** useAddress returns the path and the query of the address. */
export function useAddress(): { path: string; search: string } {
  const path = useSyncExternalStore(subscribe, () => location.pathname)
  const search = useSyncExternalStore(subscribe, () => location.search)
  return { path, search }
}

let kept = ''

/** keep adds a parameter to this address and all later ones, unless they have it. */
export function keep(name: string, value: string): void {
  kept = `${name}=${value}`
  const to = withKept(location.pathname + location.search)
  if (to === location.pathname + location.search) return
  history.replaceState(null, '', to)
  tell()
}

/** link is the address of a link within the page, complete for another tab too, and its click handler. */
export const link = (to: string) => ({ href: withKept(to), onClick: followed })

function withKept(to: string): string {
  const [name = ''] = kept.split('=')
  if (!name || new URL(to, location.origin).searchParams.has(name)) return to
  return `${to}${to.includes('?') ? '&' : '?'}${kept}`
}

/** go changes the address; replace leaves no entry to go back to. */
export function go(to: string, { replace = false } = {}): void {
  const address = withKept(to)
  if (address === location.pathname + location.search) return
  history[replace ? 'replaceState' : 'pushState'](null, '', address)
  tell()
}

/** followed handles a click on a link within the page; other clicks are left to the browser. */
export function followed(event: React.MouseEvent<HTMLAnchorElement>): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  event.preventDefault()
  const { pathname, search } = new URL(event.currentTarget.href)
  go(pathname + search)
}
