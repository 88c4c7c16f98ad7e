import type { Membership } from '../api/session'

// Users in several workspaces have that of the page in its address, ?workspace=, so that a link
// opens in the workspace that it was copied in. Users in one have shorter addresses.

export const parameter = 'workspace'

const lastKey = 'atlas-workspace'
const shortLength = 8

/**
 * shortOf returns the shortest end of a workspace's id that is unique among the user's. The
 * beginning of an id is the time of its creation, which several may share.
 */
export function shortOf(id: string, all: Membership[]): string {
  const short = id.slice(-shortLength)
  return all.some((m) => m.id !== id && m.id.endsWith(short)) ? id : short
}

/** The workspace of this page: another tab may change the last used one. */
let here: string | null = null

/**
 * choose returns the workspace of an address: the named one, or that of the page, or the last one
 * used, or the first. Undefined: the user is not in the named one, or in none.
 */
export function choose(all: Membership[], search: string, last = lastWorkspace()): Membership | undefined {
  const named = new URLSearchParams(search).get(parameter)
  if (named !== null) return named.length < shortLength ? undefined : all.find((m) => m.id.endsWith(named))
  return all.find((m) => m.id === last) ?? all[0]
}

const lastWorkspace = () => here ?? localStorage.getItem(lastKey)

export function rememberWorkspace(id: string): void {
  here = id
  localStorage.setItem(lastKey, id)
}
