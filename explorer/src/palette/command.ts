import { fuzzy } from './fuzzy'

/** groups are the headings, in their order. */
export const groups = [
  'On this screen',
  'Recent searches',
  'Favorites',
  'Go to',
  'Views and lists',
  'Boards',
  'Atlas',
] as const
export type Group = (typeof groups)[number]

/** Command is something that can be done. */
export interface Command {
  id: string
  group: Group
  name: string
  /** What it is about, before its name. */
  place?: string
  /** A key that does the same. */
  keys?: string
  /** Whether it is only there once one types. */
  hidden?: boolean
  run: () => void
}

/** How many are shown at most of what one types. */
const maxResults = 60

function score(query: string, { name, place = '', group }: Command): number | undefined {
  // The group may be named too: "go firms".
  const whole = fuzzy(query, `${place} ${name}`) ?? fuzzy(query, `${group} ${place} ${name}`)
  // Of equal ones the shorter name.
  return whole === undefined ? undefined : whole - name.length / 100
}

/**
 * found lists the commands that match the typed text, the best first; without text all but the
 * hidden ones, by group.
 */
export function found(query: string, commands: readonly Command[]): Command[] {
  if (query.trim() === '') {
    return groups.flatMap((group) => commands.filter((c) => c.group === group && !c.hidden))
  }
  return commands
    .flatMap((command) => {
      const s = score(query, command)
      return s === undefined ? [] : [{ command, s }]
    })
    .sort((a, b) => b.s - a.s)
    .slice(0, maxResults)
    .map(({ command }) => command)
}

/** step returns the position after or before one, around the ends. */
export const step = (length: number, at: number, by: number): number => (length === 0 ? 0 : (at + by + length) % length)
