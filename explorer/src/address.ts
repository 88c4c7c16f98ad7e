import { useSyncExternalStore } from 'react'

// The address of the page is its state. Components read it with useAddress and change it with go;
// the browser's back and forward work without further code.

const listeners = new Set<() => void>()
const notify = () => listeners.forEach((listen) => listen())
addEventListener('popstate', notify)

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

// A name=value that every address gets.
let stickyParameter = ''

/** setStickyParameter adds a parameter to this address and to all later ones that do not have it. */
export function setStickyParameter(name: string, value: string): void {
  stickyParameter = `${name}=${value}`
  const to = withSticky(location.pathname + location.search)
  if (to === location.pathname + location.search) return
  history.replaceState(null, '', to)
  notify()
}

/** link is the address of a link within the page, complete for another tab too, and its click handler. */
export const link = (to: string) => ({ href: withSticky(to), onClick: handleLinkClick })

function withSticky(to: string): string {
  const [name = ''] = stickyParameter.split('=')
  if (!name || new URL(to, location.origin).searchParams.has(name)) return to
  return `${to}${to.includes('?') ? '&' : '?'}${stickyParameter}`
}

/** go changes the address; replace leaves no entry to go back to. */
export function go(to: string, { replace = false } = {}): void {
  const address = withSticky(to)
  if (address === location.pathname + location.search) return
  history[replace ? 'replaceState' : 'pushState'](null, '', address)
  notify()
}

/** handleLinkClick handles a click on a link within the page; other clicks are left to the browser. */
export function handleLinkClick(event: React.MouseEvent<HTMLAnchorElement>): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  event.preventDefault()
  const { pathname, search } = new URL(event.currentTarget.href)
  go(pathname + search)
}
