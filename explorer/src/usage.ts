import { capital, nouns, type Dataset } from './datasets'

/** Hour has the credits of a clock hour. */
export interface Hour {
  from: string
  credits: number
}

const hour = 3600 * 1000
/** Hours after which a credit returns. */
const window = 24

/** hoursOf returns the clock hours that the last day touches, also those without credits. */
export function hoursOf(used: Hour[], now: Date): { from: Date; credits: number }[] {
  const last = Math.floor(+now / hour)
  const credits = new Map(used.map((h) => [Math.floor(+new Date(h.from) / hour), h.credits]))
  return Array.from({ length: window + 1 }, (_, i) => {
    const n = last - window + i
    return { from: new Date(n * hour), credits: credits.get(n) ?? 0 }
  })
}

/** returnOf is when all credits of an hour are back. */
export const returnOf = (from: Date) => new Date(+from + (window + 1) * hour)

/** firstReturn is which credits return next, and by when. */
export function firstReturn(used: Hour[]): { credits: number; by: Date } | undefined {
  const first = used.find((h) => h.credits > 0)
  return first && { credits: first.credits, by: returnOf(new Date(first.from)) }
}

/** operationLabel describes an operation of the API. */
export function operationLabel(id: string): string {
  const words = id.split('_')
  const plural = (word: string | undefined) => nouns[word as Dataset] as { many: string } | undefined
  const singular = (word: string | undefined) => plural(`${word}s`)
  if (id === 'search_view_records') return 'Rows of Views'
  if (words[0] === 'search' && words[1] === 'workspace')
    return `Rows of the book: ${plural(words[2])?.many ?? words[2]}`
  if (words[0] === 'get' && words[1] === 'workspace')
    return `Records of the book: ${singular(words[2])?.many ?? words[2]}`
  if (words[0] === 'search' && plural(words[1])) return `Rows of ${plural(words[1])?.many}`
  if (words[2] === 'batch' && plural(words[1])) return `${capital(plural(words[1])?.many ?? '')} by ID`
  if (words[0] === 'get' && singular(words[1])) return `${capital(singular(words[1])?.many ?? '')} opened`
  return capital(words.join(' '))
}
