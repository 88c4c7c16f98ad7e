/** QueueState is the state of the queue in the address. */
export interface QueueState {
  type?: string
  words?: string
  inBook: boolean
  dismissed: boolean
}

/** QueueBody is the request of a search of the queue, without its page. */
export interface QueueBody {
  query?: string
  filters?: { signal_type: { value: string } }
  in_book?: true
  dismissed?: true
}

export function parse(search: string): QueueState {
  const given = new URLSearchParams(search)
  const type = given.get('type')
  const words = given.get('q')?.trim()
  return {
    ...(type ? { type } : {}),
    ...(words ? { words } : {}),
    inBook: given.has('book'),
    dismissed: given.has('dismissed'),
  }
}

export function format({ type, words, inBook, dismissed }: QueueState): string {
  const query = new URLSearchParams()
  if (words) query.set('q', words)
  if (type) query.set('type', type)
  if (inBook) query.set('book', '1')
  if (dismissed) query.set('dismissed', '1')
  return `/queue${query.size > 0 ? `?${query}` : ''}`
}

/** bodyOf is the search of a state; the empty state finds unread signals. */
export const bodyOf = ({ type, words, inBook, dismissed }: QueueState): QueueBody => ({
  ...(words ? { query: words } : {}),
  ...(type ? { filters: { signal_type: { value: type } } } : {}),
  ...(inBook ? { in_book: true } : {}),
  ...(dismissed ? { dismissed: true } : {}),
})

/** badge is how the bell shows a count. */
export const badge = (unread: number) => (unread > 99 ? '99+' : String(unread))
