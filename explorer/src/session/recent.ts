import { leaveListeners } from './../api/session'

// The searches of this tab, only by their addresses, as in the browser's own history: of one user
// in one workspace, until that user signs out or the tab is closed.

const key = 'atlas-recent'

/** How many are stored. */
const most = 12

/** Owner is their user and workspace. */
interface Owner {
  user: string
  workspace: string
}

interface Kept extends Owner {
  addresses: string[]
}

function read(): Kept | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? 'null') as Kept | null
    return Array.isArray(kept?.addresses) ? kept : undefined
  } catch {
    return undefined
  }
}

/** recentSearches lists the addresses of this user's searches in this workspace, the latest first. */
export function recentSearches({ user, workspace }: Owner): string[] {
  const kept = read()
  return kept?.user === user && kept.workspace === workspace ? kept.addresses.filter((a) => a.startsWith('/')) : []
}

/** rememberSearch puts an address first. Those of another user or workspace are deleted. */
export function rememberSearch(owner: Owner, address: string): void {
  const addresses = [address, ...recentSearches(owner).filter((a) => a !== address)].slice(0, most)
  try {
    sessionStorage.setItem(key, JSON.stringify({ ...owner, addresses }))
  } catch {
    // A browser without storage has no recent searches.
  }
}

export const forgetSearches = () => sessionStorage.removeItem(key)

leaveListeners.add(forgetSearches)
