import { relationOf, type Dataset, type FieldKind } from '../datasets'
import { formatPlace, parsePlace, placeValue, type Place } from './place'
import { dayOf } from './relative'

/** Condition is the condition of a search on one field or relation. */
export type Condition =
  /** One of the values, or with unknown no value. Exact: a text is the whole value. */
  | { kind: 'values'; values: string[]; unknown?: boolean; exact?: boolean }
  /** Inclusive; an end that is missing is open. Dates are YYYY-MM-DD or relative. */
  | { kind: 'range'; from?: string; to?: string }
  | { kind: 'known'; known: boolean }
  | Place
  /** One related record, or none, meets all conditions, depending on the key. */
  | { kind: 'related'; conditions: Conditions }

/** Conditions of a search, of a group, or on a related record: all must be met. */
export type Conditions = Record<string, Condition>

/** kindOf returns the kind of a field, undefined for one that cannot be searched. */
export type KindOf = (dataset: Dataset, key: string) => FieldKind | undefined

/** Pair is a name and a value of the address. */
export type Pair = [name: string, value: string]

// Limits of the service: the values of a condition, and the characters of a text.
export const maxValues = 100
const maxText = 500

// Names in the address that are no keys of fields.
const names = { known: 'known', unknown: 'unknown' }

/**
 * read makes conditions from pairs of an address. Pairs of key and value are the same as of `atlas
 * search --filter`, but words that begin with = have a space before it; known and unknown name a
 * key. Unknown pairs are ignored. If a field has both values and unknown, the later one wins,
 * unless they may mix.
 */
export function read(
  pairs: Iterable<Pair>,
  dataset: Dataset,
  kindOf: KindOf,
  mayMix: (key: string, all: Conditions) => boolean,
): Conditions {
  const conditions: Conditions = {}
  for (const [name, value] of pairs) {
    const known = name === names.known ? true : name === names.unknown ? false : undefined
    const path = known === undefined ? name : value
    const [first = '', key] = path.split(/\.(.*)/s)
    const relation = kindOf(dataset, first) === 'relation' ? relationOf(first) : undefined
    if (!relation) {
      const next = add(conditions[path], kindOf(dataset, path), value, known, mayMix(path, conditions))
      if (next) conditions[path] = next
      continue
    }
    const before = conditions[first]
    const related = before?.kind === 'related' ? before.conditions : {}
    if (key === undefined) {
      if (value === '') conditions[first] = { kind: 'related', conditions: related }
      continue
    }
    const next = add(related[key], kindOf(relation.dataset, key), value, known, false)
    if (next) conditions[first] = { kind: 'related', conditions: { ...related, [key]: next } }
  }
  return conditions
}

/** add returns the condition on a field after one more pair, undefined if it has no effect. */
function add(
  before: Condition | undefined,
  kind: FieldKind | undefined,
  value: string,
  known: boolean | undefined,
  mayMix: boolean,
): Condition | undefined {
  if (kind === undefined || kind === 'relation') return undefined
  if (known !== undefined) {
    return !known && mayMix && before?.kind === 'values' ? { ...before, unknown: true } : { kind: 'known', known }
  }
  if (kind === 'place') return parsePlace(value)
  if (kind === 'number' || kind === 'date') return parseRange(kind, value)
  const exact = kind === 'text' && value.startsWith('=')
  const text = exact ? value.slice(1) : value.replace(/^ ( *=)/, '$1')
  if (text.trim() === '' || text.length > maxText || (kind === 'id' && !isID(text))) return undefined
  if (before?.kind === 'values') {
    if ((before.exact ?? false) !== exact || before.values.length === maxValues) return undefined
    return { ...before, values: [...before.values, text] }
  }
  const unknown = mayMix && before?.kind === 'known' && !before.known
  return { kind: 'values', values: [text], ...(unknown ? { unknown } : {}), ...(exact ? { exact } : {}) }
}

export const isID = (text: string) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)

function parseRange(kind: 'number' | 'date', text: string): Condition | undefined {
  const [from = '', to = from] = text.split(/\.\.(.*)/s)
  return rangeBetween(kind, from, to)
}

/** rangeBetween is the condition between two ends in either order; an empty one is open. */
export function rangeBetween(kind: FieldKind, one: string, other: string): Condition | undefined {
  const place = (end: string) => (kind === 'number' ? readNumber(end) : readTime(dayOf(end, 'from')))
  if ([one, other].some((end) => end !== '' && place(end) === undefined) || (!one && !other)) return undefined
  const swapped = one !== '' && other !== '' && (place(one) ?? 0) > (place(other) ?? 0)
  const [from, to] = swapped ? [other, one] : [one, other]
  return { kind: 'range', ...(from ? { from } : {}), ...(to ? { to } : {}) }
}

/** readNumber reads a number as JSON spells it; anything else is undefined. */
export function readNumber(text: string): number | undefined {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return undefined
  const n = Number(text)
  return Number.isFinite(n) ? n : undefined
}

/** readTime reads a day or an instant. */
function readTime(text: string): number | undefined {
  const [, day] = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? []
  const at = Date.parse(text)
  // The 31st of February is another day.
  if (!day || Number.isNaN(at) || new Date(`${day}T00:00Z`).toISOString().slice(0, 10) !== day) return undefined
  return at
}

/** write is the inverse of read. */
export function write(conditions: Conditions): Pair[] {
  return Object.entries(conditions).flatMap(([key, c]): Pair[] => {
    switch (c.kind) {
      case 'values': {
        const pairs = c.values.map((v): Pair => [key, c.exact ? `=${v}` : v.replace(/^ *=/, ' $&')])
        return c.unknown ? [...pairs, [names.unknown, key]] : pairs
      }
      case 'range':
        return [[key, c.from !== undefined && c.from === c.to ? c.from : `${c.from ?? ''}..${c.to ?? ''}`]]
      case 'known':
        return [[c.known ? names.known : names.unknown, key]]
      case 'place':
        return [[key, formatPlace(c)]]
      case 'related': {
        const pairs = write(c.conditions).map(([name, value]): Pair => {
          const isKey = name !== names.known && name !== names.unknown
          return isKey ? [`${key}.${name}`, value] : [name, `${key}.${value}`]
        })
        return pairs.length > 0 ? pairs : [[key, '']]
      }
    }
  })
}

// A group is one value of the address: pairs with ; between them, and ;; for a ; in a pair.

/** readPairs reads the pairs of a group. */
export function readPairs(text: string): Pair[] {
  return (text.match(/(?:[^;]|;;)+/g) ?? []).map((pair) => {
    const [name = '', value = ''] = pair.replaceAll(';;', ';').split(/=(.*)/s)
    return [name, value]
  })
}

/** writePairs is the inverse of readPairs. */
export const writePairs = (pairs: Pair[]) =>
  pairs.map(([name, value]) => (value === '' ? name : `${name}=${value.replaceAll(';', ';;')}`)).join(';')

/** isMixed reports whether a condition takes values and unknown, which a filter cannot express. */
export const isMixed = (c: Condition | undefined) => c?.kind === 'values' && c.unknown === true

/** onlyOf returns the key and the condition of a group that has one. */
export function onlyOf(group: Conditions): [string, Condition] | undefined {
  const all = Object.entries(group)
  return all.length === 1 ? all[0] : undefined
}

/** Parts are conditions as a request has them. */
export interface Parts {
  filters?: Record<string, unknown>
  relations?: Record<string, Record<string, unknown>>
}

/** isExact reports whether values of a field are always whole texts, although the service matches words in it. */
export const isExact = (key: string) => key === 'workspace_status'

/** partsOf returns conditions as a request has them. */
export function partsOf(conditions: Conditions, dataset: Dataset, kindOf: KindOf): Parts {
  const filters: Parts['filters'] = {}
  const relations: Parts['relations'] = {}
  for (const [key, c] of Object.entries(conditions)) {
    if (c.kind === 'related') {
      const { dataset: related } = relationOf(key) ?? { dataset }
      relations[key] = partsOf(c.conditions, related, kindOf).filters ?? {}
    } else
      filters[key] = filterOf(isExact(key) && c.kind === 'values' ? { ...c, exact: true } : c, kindOf(dataset, key))
  }
  return {
    ...(Object.keys(filters).length > 0 ? { filters } : {}),
    ...(Object.keys(relations).length > 0 ? { relations } : {}),
  }
}

function filterOf(c: Exclude<Condition, { kind: 'related' }>, kind: FieldKind | undefined): unknown {
  const bound = (text: string | undefined) => (text === undefined ? null : kind === 'number' ? Number(text) : text)
  switch (c.kind) {
    case 'known':
      return { known: c.known }
    case 'values':
      return { value: c.values, ...(c.exact ? { exact_match: true } : {}) }
    case 'range':
      return { value: [bound(c.from), bound(c.to)] }
    case 'place':
      return { value: placeValue(c) }
  }
}

/** same compares values of a field without case: values of dynamic fields are folded, and an address may have another spelling. */
export const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
