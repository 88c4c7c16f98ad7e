import type { QueryClient } from '@tanstack/react-query'
import { RequestError } from '../api/client'
import { leaveListeners } from '../api/session'
import { sessionQuery, workspaceQuery } from '../api/queries'
import { forgetSearches } from '../session/recent'
import { follow, type Follower } from './changes'
import { forget, isPaid, trim } from './entries'
import { share, type Owner } from './share'

/** How often a visible page checks whether the data has changed, in milliseconds. */
const often = 60_000

/** The channel of a browser's tabs. */
const channel = 'atlas-paid'

/** start caches paid data while a session lasts, and shares it with the user's other tabs. */
export function start(client: QueryClient): void {
  const owner = (): Owner | undefined => {
    const user = client.getQueryData(sessionQuery.queryKey)
    const workspace = client.getQueryData(workspaceQuery.queryKey)
    return user && workspace ? `${user.id} ${workspace.id}` : undefined
  }
  const { hello, over } = share({ client, port: new BroadcastChannel(channel), owner })
  let mine: Owner | undefined
  let follower: Follower = { cursors: {}, versions: {} }
  const look = () => {
    const now = owner()
    if (now === mine) return
    const [user, workspace] = mine?.split(' ') ?? []
    mine = now
    follower = { cursors: {}, versions: {} }
    if (!now) {
      // Signed out, or the session is over.
      if (user) over(user)
      forgetSearches()
      return forget(client)
    }
    forget(client, ([, of]) => of !== now.split(' ')[1] || (workspace !== undefined && of !== workspace))
    hello(now)
  }
  look()
  leaveListeners.add(() => over(mine?.split(' ')[0] ?? ''))
  // After a loss of access only the data on the page stays.
  const refused = (error: unknown) => {
    if (error instanceof RequestError && (error.status === 401 || error.status === 403)) forget(client)
  }
  client.getMutationCache().subscribe(({ mutation }) => refused(mutation?.state.error))
  client.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated') return
    if (event.action.type === 'error') refused(event.action.error)
    if (event.action.type !== 'success') return
    const [kind] = event.query.queryKey
    if (kind === 'session' || kind === 'workspace') look()
    else if (isPaid(event.query)) trim(client)
  })
  const ask = () => {
    const workspace = mine?.split(' ')[1]
    // It is free, and retried after a failure.
    if (workspace && !document.hidden) follow(client, workspace, follower).catch(() => undefined)
  }
  setInterval(ask, often)
  addEventListener('visibilitychange', ask)
}
