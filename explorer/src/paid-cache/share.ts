import type { Query, QueryClient } from '@tanstack/react-query'
import { entryOf, evict, isPaidQuery, receive, type Entry } from './entries'

/** Whose rows they are: a user in a workspace. */
export type Owner = `${string} ${string}`

type Message =
  { what: 'hello'; owner: Owner } | { what: 'entry'; owner: Owner; entry: Entry } | { what: 'over'; user: string }

interface Port {
  postMessage: (message: Message) => void
  onmessage: ((event: MessageEvent<Message>) => void) | null
}

interface Options {
  client: QueryClient
  port: Port
  /** Undefined while nobody is signed in. */
  owner: () => Owner | undefined
}

/** share sends the paid data of this tab to the user's other tabs, and receives theirs. */
export function share({ client, port, owner }: Options) {
  const receiving = new Set<string>()
  const send = (query: Query) => {
    const mine = owner()
    const entry = mine && query.queryKey[1] === workspaceOf(mine) && entryOf(query)
    if (mine && entry) port.postMessage({ what: 'entry', owner: mine, entry })
  }
  const paid = () => client.getQueryCache().getAll().filter(isPaidQuery)
  port.onmessage = ({ data: message }) => {
    const mine = owner()
    if (!mine) return
    if (message.what === 'over') {
      if (mine.startsWith(`${message.user} `)) evict(client)
    } else if (message.owner !== mine) return
    else if (message.what === 'hello') paid().forEach(send)
    else {
      const { entry } = message
      const hash = JSON.stringify(entry.key)
      receiving.add(hash)
      receive(client, entry)
      receiving.delete(hash)
    }
  }
  const stop = client.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated' || event.action.type !== 'success' || !isPaidQuery(event.query)) return
    if (!receiving.has(JSON.stringify(event.query.queryKey))) send(event.query)
  })
  return {
    /** requestEntries requests the data of the other tabs. */
    requestEntries: (mine: Owner) => port.postMessage({ what: 'hello', owner: mine }),
    /** announceSessionEnd announces the end of a user's session. */
    announceSessionEnd: (user: string) => port.postMessage({ what: 'over', user }),
    stop,
  }
}

const workspaceOf = (owner: Owner) => owner.split(' ')[1]
