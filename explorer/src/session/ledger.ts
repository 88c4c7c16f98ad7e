import { queryOptions } from '@tanstack/react-query'
import { capital, nouns, type Dataset } from '../datasets'

/** Entry is the cost of an action of this page. */
export interface Entry {
  what: string
  credits: number
  /** When it was last charged. */
  at: number
}

/** ledgerQuery has the costs of this page since it was opened, newest first. */
export const ledgerQuery = queryOptions<Entry[]>({
  queryKey: ['ledger'],
  queryFn: () => [],
  initialData: [],
  enabled: false,
  gcTime: Infinity,
})

/** How many entries there are at most. */
const maxEntries = 100

/** addEntry adds a cost. Consecutive pages of the same kind are one entry. */
export function addEntry(ledger: Entry[], path: string, credits: number, at: number): Entry[] {
  if (credits === 0) return ledger
  const what = whatOf(path)
  const [last, ...rest] = ledger
  if (last?.what === what) return [{ what, credits: last.credits + credits, at }, ...rest]
  return [{ what, credits, at }, ...ledger].slice(0, maxEntries)
}

/** whatOf describes what a request to a path of the API reads. */
export function whatOf(path: string): string {
  const [, area, name = '', ...rest] = path.split('/')
  const noun = nouns[name as Dataset] as { one: string; many: string } | undefined
  if (area === 'workspace') {
    if (name === 'signal-queue') return 'Signals of the queue'
    if (!noun) return name === 'views' ? 'Rows of a View' : path
    return rest[0] === 'search' ? `Rows of your book of ${noun.many}` : `What your workspace says of a ${noun.one}`
  }
  if (!noun) return path
  switch (rest.join('/')) {
    case 'search':
      return `Rows of ${noun.many}`
    case 'get/batch':
      return `${capital(noun.many)} by ID`
  }
  return `${capital(noun.one)} opened`
}
