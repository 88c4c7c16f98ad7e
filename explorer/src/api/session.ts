import { errorOf, RequestError } from './client'

/** User is who is signed in. */
export interface User {
  id: string
  email: string
  name: string
}

/** session sends a request about the caller's session, which is no part of the API. */
async function session(method: string, body?: unknown): Promise<User | null> {
  const response = await fetch('/session', {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  }).catch(() => {
    throw new RequestError(0, 'offline', 'Atlas does not answer. Is this machine online?', '')
  })
  const text: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw errorOf(response, text)
  return (text as { data: { user: User | null } }).data.user
}

const fragment = '#sign-in='

/** takeLink removes the token of a sign-in link from the address and returns it. */
export function takeLink(): string | undefined {
  if (!location.hash.startsWith(fragment)) return undefined
  const token = location.hash.slice(fragment.length)
  history.replaceState(null, '', location.pathname + location.search)
  return token
}

export const currentUser = () => session('GET')
export const signIn = (token: string) => session('POST', { token })
export const signOut = () => session('DELETE')
