import { useSyncExternalStore } from 'react'

const path = '/invitations'
const key = 'invitation'

const listeners = new Set<() => void>()
const tell = () => listeners.forEach((listen) => listen())

/**
 * takeInvitation takes the token of an invitation's link, /invitations#token=…, out of the
 * address. The tab keeps it until it is used, because signing in may leave the page.
 */
export function takeInvitation(): void {
  if (location.pathname !== path) return
  const parameters = new URLSearchParams(location.hash.slice(1) || location.search)
  const token = parameters.get('token')
  if (token) sessionStorage.setItem(key, token)
  history.replaceState(null, '', '/')
  tell()
}

/** dropInvitation forgets the token. */
export function dropInvitation(): void {
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
    () => sessionStorage.getItem(key) ?? undefined,
  )
