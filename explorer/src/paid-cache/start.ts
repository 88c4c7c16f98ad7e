import type { QueryClient } from '@tanstack/react-query'
import { RequestError } from '../api/client'
import { signOutListeners } from '../api/session'
import { sessionQuery, workspaceQuery } from '../api/queries'
import { clearRecentSearches } from '../session/recent'
import { pollChanges, type ChangeCursors } from './changes'
import { evict, isPaidQuery, trim } from './entries'
import { share, type Owner } from './share'

/** How often a visible page checks whether the data has changed, in milliseconds. */
const pollInterval = 60_000

/** The channel of a browser's tabs. */
const channel = 'atlas-paid'

/** start caches paid data while a session lasts, and shares it with the user's other tabs. */
export function start(client: QueryClient): void {
  const owner = (): Owner | undefined => {
    const user = client.getQueryData(sessionQuery.queryKey)
    const workspace = client.getQueryData(workspaceQuery.queryKey)
    return user && workspace ? `${user.id} ${workspace.id}` : undefined
  }
  const { requestEntries, announceSessionEnd } = share({ client, port: new BroadcastChannel(channel), owner })
  let current: Owner | undefined
  let position: ChangeCursors = { cursors: {}, versions: {} }
  const update = () => {
    const now = owner()
    if (now === current) return
    const [user, workspace] = current?.split(' ') ?? []
    current = now
    position = { cursors: {}, versions: {} }
    if (!now) {
      // Signed out, or the session is over.
      if (user) announceSessionEnd(user)
      clearRecentSearches()
      return evict(client)
    }
    evict(client, ([, of]) => of !== now.split(' ')[1] || (workspace !== undefined && of !== workspace))
    requestEntries(now)
  }
  update()
  signOutListeners.add(() => announceSessionEnd(current?.split(' ')[0] ?? ''))
  // After a loss of access only the data on the page stays.
  const refused = (error: unknown) => {
    if (error instanceof RequestError && (error.status === 401 || error.status === 403)) evict(client)
  }
  client.getMutationCache().subscribe(({ mutation }) => refused(mutation?.state.error))
  client.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated') return
    if (event.action.type === 'error') refused(event.action.error)
    if (event.action.type !== 'success') return
    const [kind] = event.query.queryKey
    if (kind === 'session' || kind === 'workspace') update()
    else if (isPaidQuery(event.query)) trim(client)
  })
  const poll = () => {
    const workspace = current?.split(' ')[1]
    // It is free, and retried after a failure.
    if (workspace && !document.hidden) pollChanges(client, workspace, position).catch(() => undefined)
  }
  setInterval(poll, pollInterval)
  addEventListener('visibilitychange', poll)
}
