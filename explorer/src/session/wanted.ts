import { leaveListeners } from '../api/session'

// The address that was opened in this tab without a session. A sign-in link opens the first page,
// which redirects to that address.

const key = 'atlas-wanted'

// It is deleted for the next user.
leaveListeners.add(() => sessionStorage.removeItem(key))

/** want remembers the address of the page. */
export function want(): void {
  const address = location.pathname + location.search
  if (address !== '/') sessionStorage.setItem(key, address)
}

/** takeWanted returns the remembered address, once, on the first page. */
export function takeWanted(): string | undefined {
  const address = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  const first = location.pathname === '/' && location.search === ''
  // Of this server only: // would begin the name of another.
  return first && address && /^\/(?!\/)/.test(address) ? address : undefined
}
