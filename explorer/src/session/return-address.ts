import { signOutListeners } from '../api/session'

// The address that was opened in this tab without a session. A sign-in link opens the first page,
// which redirects to that address.

const key = 'atlas-wanted'

// It is deleted for the next user.
signOutListeners.add(() => sessionStorage.removeItem(key))

/** storeReturnAddress stores the address of the page. */
export function storeReturnAddress(): void {
  const address = location.pathname + location.search
  if (address !== '/') sessionStorage.setItem(key, address)
}

/** takeReturnAddress returns the stored address, once, on the first page. */
export function takeReturnAddress(): string | undefined {
  const address = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  const first = location.pathname === '/' && location.search === ''
  // Of this server only: // would begin the name of another.
  return first && address && /^\/(?!\/)/.test(address) ? address : undefined
}
