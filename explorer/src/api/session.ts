import { errorOf, RequestError } from './client'

/** Membership is a workspace of a user. */
export interface Membership {
  id: string
  name: string
  role: string
}

/** User is the signed-in user. */
export interface User {
  id: string
  email: string
  name: string
  workspaces?: Membership[]
}

interface Answer {
  user: User | null
  /** Where to sign in, if a provider is set up. */
  sign_in?: string
  /** Where to look up which workspace's provider an e-mail address has. */
  find_provider?: string
  /** Where to exchange an API key for a session, in development. */
  sign_in_by_key?: string
  /** Where a user who signed out here also signs out at the provider. */
  sign_out?: string
}

/** session sends a request about the caller's session, which is not part of the API. */
async function session<T = Answer>(method: string, body?: unknown, path = '/session'): Promise<T> {
  const response = await fetch(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  }).catch(() => {
    throw new RequestError(0, 'offline', 'Atlas does not answer. Is this machine online?', '')
  })
  const text: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw errorOf(response, text)
  return (text as { data: T }).data
}

/** take removes a fragment with a prefix from the address and returns the rest of it. */
function take(beginning: string): string | undefined {
  if (!location.hash.startsWith(beginning)) return undefined
  const rest = location.hash.slice(beginning.length)
  history.replaceState(null, '', location.pathname + location.search)
  return rest
}

/** takeLink takes the token of a sign-in link. */
export const takeLink = () => take('#sign-in=')
/** takeFailure takes the reason why signing in at the provider failed. */
export const takeFailure = () => take('#sign-in-failed=')

export const currentUser = async () => (await session('GET')).user
export const signIn = async (token: string) => (await session('POST', { token })).user
export const signInByKey = async (path: string, key: string) => (await session('POST', { key }, path)).user
/** signInOptions returns where to sign in: at the provider, at that of a workspace, and by an API key. */
export const signInOptions = async () => {
  const { sign_in, find_provider, sign_in_by_key } = await session('GET')
  return { provider: sign_in, own: find_provider, key: sign_in_by_key }
}

/** findProvider returns where people of the domain of an address sign in, null for no provider of its own. */
export const findProvider = async (path: string, email: string) =>
  (await session<{ sign_in: string | null }>('POST', { email }, path)).sign_in

/** signOutListeners are called when the user has signed out. */
export const signOutListeners = new Set<() => void>()

/** signOut signs out, here and at the provider, and opens the first page. */
export async function signOut(): Promise<void> {
  const { sign_out } = await session('DELETE')
  signOutListeners.forEach((listener) => listener())
  location.assign(sign_out ?? '/')
}
