import { leaveListeners } from '../api/session'

// The address that somebody without a session has opened in this tab. A sign-in link leads to
// the first page; from there it goes on to that address.

const key = 'atlas-wanted'

// It is nothing to whoever signs in next.
leaveListeners.add(() => sessionStorage.removeItem(key))

/** want remembers the address of the page. */
export function want(): void {
  const address = location.pathname + location.search
  if (address !== '/') sessionStorage.setItem(key, address)
}

/** takeWanted returns what was wanted, once, if the page is at its beginning. */
export function takeWanted(): string | undefined {
  const address = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  const first = location.pathname === '/' && location.search === ''
  // Of this server only: // would begin the name of another.
  return first && address && /^\/(?!\/)/.test(address) ? address : undefined
}
