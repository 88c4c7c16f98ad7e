import { useSyncExternalStore } from 'react'

const path = '/invitations'
const key = 'invitation'

const listeners = new Set<() => void>()
const notify = () => listeners.forEach((listen) => listen())

/** The token of this page: a used one is shown until its answer is read, and not restored. */
let open = sessionStorage.getItem(key) ?? undefined

/**
 * takeInvitation removes the token of an invitation's link, /invitations#token=…, from the
 * address. The tab stores it until it is used, because signing in may leave the page.
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
  notify()
}

/** usedInvitation deletes the token for the next load of the page. */
export const usedInvitation = () => sessionStorage.removeItem(key)

/** dropInvitation deletes the token. */
export function dropInvitation(): void {
  open = undefined
  sessionStorage.removeItem(key)
  notify()
}

/** useInvitation returns the token of an opened invitation that was not answered yet. */
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
