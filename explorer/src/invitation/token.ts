import { useSyncExternalStore } from 'react'

const path = '/invitations'
const key = 'invitation'

const listeners = new Set<() => void>()
const tell = () => listeners.forEach((listen) => listen())

/** The token of this page: one that was used is shown until its answer is read, and does not come back. */
let open = sessionStorage.getItem(key) ?? undefined

/**
 * takeInvitation takes the token of an invitation's link, /invitations#token=…, out of the
 * address. The tab keeps it until it is used, because signing in may leave the page.
 */
export function takeInvitation(): void {
  if (location.pathname !== path) return
  const parameters = new URLSearchParams(location.hash.slice(1) || location.search)
  const token = parameters.get('token')
  if (token) {
    open = token
    sessionStorage.setItem(key, token)
  }
  history.replaceState(null, '', '/')
  tell()
}

/** usedInvitation forgets the token when the page is loaded again. */
export const usedInvitation = () => sessionStorage.removeItem(key)

/** dropInvitation forgets the token. */
export function dropInvitation(): void {
  open = undefined
  sessionStorage.removeItem(key)
  tell()
}

/** useInvitation returns the token of an invitation that was opened and not answered yet. */
export const useInvitation = (): string | undefined =>
  useSyncExternalStore(
    (listen) => {
      listeners.add(listen)
      return () => {
        listeners.delete(listen)
      }
    },
    () => open,
  )
