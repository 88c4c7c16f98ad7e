import type { FieldKind } from '../datasets'
import type { Condition } from '../search/conditions'

/** Mode is the kind of a condition, such as "is any of". */
export type Mode = 'is' | 'exactly' | 'not' | 'range' | 'near' | 'within' | 'polygon' | 'known' | 'unknown'

const own: Record<FieldKind, Mode[]> = {
  values: ['is', 'not'],
  id: ['is', 'not'],
  text: ['is', 'exactly', 'not'],
  number: ['range'],
  date: ['range'],
  place: ['near', 'within', 'polygon'],
  relation: [],
}

/** modesOf lists the modes of a field kind; without exclude, only the modes of a single condition. */
export const modesOf = (kind: FieldKind, exclude: boolean): Mode[] => [
  ...own[kind].filter((m) => exclude || m !== 'not'),
  'known',
  'unknown',
]

/** modeOf returns the mode of a condition, the first one if there is none. */
export function modeOf(kind: FieldKind, c: Condition | undefined, excluded: boolean): Mode {
  if (excluded) return 'not'
  if (c?.kind === 'known') return c.known ? 'known' : 'unknown'
  if (c?.kind === 'place') return 'near' in c ? 'near' : 'within' in c ? 'within' : 'polygon'
  if (c?.kind === 'values' && c.exact) return 'exactly'
  return own[kind][0] ?? 'known'
}

const words: Record<Mode, string> = {
  is: 'is any of',
  exactly: 'is exactly',
  not: 'is none of',
  range: 'is between',
  near: 'is near a point',
  within: 'is within a box',
  polygon: 'is within an area',
  known: 'is known',
  unknown: 'is unknown',
}

/** modeLabel says a mode after the name of a field. */
export function modeLabel(mode: Mode, kind: FieldKind): string {
  if (kind === 'text' && mode === 'is') return 'has the words'
  if (kind === 'text' && mode === 'not') return 'has not the words'
  return words[mode]
}
