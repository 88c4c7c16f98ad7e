import { signOutListeners } from '../api/session'

// The searches of this tab, only by their addresses, as in the browser's own history: of one user
// in one workspace, until that user signs out or the tab is closed.

const key = 'atlas-recent'

/** How many are stored. */
const maxAddresses = 12

/** Owner is their user and workspace. */
interface Owner {
  user: string
  workspace: string
}

interface Stored extends Owner {
  addresses: string[]
}

function read(): Stored | undefined {
  try {
    const stored = JSON.parse(sessionStorage.getItem(key) ?? 'null') as Stored | null
    return Array.isArray(stored?.addresses) ? stored : undefined
  } catch {
    return undefined
  }
}

/** recentSearches lists the addresses of this user's searches in this workspace, the latest first. */
export function recentSearches({ user, workspace }: Owner): string[] {
  const stored = read()
  return stored?.user === user && stored.workspace === workspace
    ? stored.addresses.filter((a) => a.startsWith('/'))
    : []
}

/** rememberSearch puts an address first. Those of another user or workspace are deleted. */
export function rememberSearch(owner: Owner, address: string): void {
  const addresses = [address, ...recentSearches(owner).filter((a) => a !== address)].slice(0, maxAddresses)
  try {
    sessionStorage.setItem(key, JSON.stringify({ ...owner, addresses }))
  } catch {
    // A browser without storage has no recent searches.
  }
}

export const clearRecentSearches = () => sessionStorage.removeItem(key)

signOutListeners.add(clearRecentSearches)
