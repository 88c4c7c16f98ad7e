import type { Book } from '../api/book'
import type { View } from '../api/views'
import { isOwn, type Source } from '../source'
import { same } from '../search/conditions'
import { daysOf, isRelative } from '../search/relative'
import { isMixed, type Condition, type SearchState } from '../search/state'

// Definition grammar v1 of docs/api.md (View definitions), and the part of a search that it can
// express.

interface Field {
  /** Its name in a definition. */
  name: string
  kind: 'values' | 'number' | 'date'
  /** How many values it takes, if that is not 100. */
  maxValues?: number
  /** The field for whether this one is known. */
  known?: string
}

const list = (name: string): Field => ({ name, kind: 'values' })
const number = (name: string): Field => ({ name, kind: 'number' })

/** grammar has the fields of definitions by their key in a search. */
const grammar: Record<Book, Record<string, Field>> = {
  accounts: {
    account_type: list('account_type'),
    city: list('city'),
    atlas_score: number('atlas_score'),
    icp_tier: list('icp_tier'),
    last_activity_at: { name: 'last_activity', kind: 'date' },
  },
  contacts: {
    role: list('role'),
    status: list('status'),
    account_id: { ...list('account_id'), maxValues: 1 },
    city: list('city'),
  },
  projects: {
    stage: list('stage'),
    primary_use: list('primary_use'),
    city: list('city'),
    sqft: number('sqft'),
    residential_units: number('units'),
    stories: { ...number('stories'), known: 'stories_known' },
    cost: number('cost'),
    gc_status: list('gc_status'),
    detected_at: { name: 'detected', kind: 'date' },
  },
}

/** Loss is a condition that a View cannot store unchanged. */
export interface Loss {
  /** The key of the field, or words for another condition. */
  key?: string
  what?: string
  reason: string
}

export interface Conversion {
  definition: { version: 1; q: string; fields: Record<string, unknown> }
  /** The search for the definition. */
  stored: SearchState
  /** Without these the View finds more. */
  dropped: Loss[]
  /** These find a little more. */
  widened: Loss[]
}

const day = /^\d{4}-\d{2}-\d{2}$/

/**
 * toDefinition translates a search to a Dynamic View's definition. The View finds everything that
 * the search finds: a condition that it cannot store is dropped or widened, never narrowed.
 */
export function toDefinition(state: SearchState, book: Book): Conversion {
  const fields: Record<string, unknown> = {}
  const conditions: Record<string, Condition> = {}
  const dropped: Loss[] = []
  const widened: Loss[] = []
  const store = (key: string, field: Field, condition: Condition, value: unknown) => {
    fields[field.name] = value
    conditions[key] = condition
  }
  for (const [key, c] of Object.entries(state.conditions)) {
    const field = grammar[book][key]
    if (c.kind === 'related') dropped.push({ key, reason: 'Views have no conditions on related records' })
    else if (!field || c.kind === 'place') dropped.push({ key, reason: 'Views have no filter on this' })
    else if (c.kind === 'known') {
      const word = c.known ? 'known' : 'unknown'
      if (field.known) store(key, { ...field, name: field.known }, c, [word])
      else dropped.push({ key, reason: `Views cannot ask whether it is ${word}` })
    } else if (c.kind === 'values') {
      const values = unique(c.values)
      const most = field.maxValues ?? 100
      if (isMixed(c)) dropped.push({ key, reason: 'Views cannot have values and “unknown” together' })
      else if (values.length > most) {
        dropped.push({ key, reason: most === 1 ? 'Views take one value of this' : `Views take ${most} values` })
      } else store(key, field, { ...c, values }, values)
    } else if (field.kind === 'date') {
      const days: Condition & { kind: 'range' } = { kind: 'range', ...daysOf(c) }
      if (![days.from, days.to].every((end) => end === undefined || day.test(end))) {
        dropped.push({ key, reason: 'Views take whole days' })
      } else {
        if ([c.from, c.to].some((end) => end !== undefined && isRelative(end))) {
          widened.push({ key, reason: 'Views keep the days that these are today' })
        }
        store(key, field, days, ends('after', days.from, 'before', days.to))
      }
    } else {
      const from = digits(c.from, Math.floor)
      const to = digits(c.to, Math.ceil)
      if (from === null || to === null) dropped.push({ key, reason: 'Views take whole numbers from zero on' })
      else {
        const range: Condition = { kind: 'range', ...ends('from', from, 'to', to) }
        if (differs(from, c.from) || differs(to, c.to)) widened.push({ key, reason: 'Views take whole numbers' })
        store(key, field, range, ends('min', from, 'max', to))
      }
    }
  }
  if (state.any) dropped.push({ what: 'Alternatives', reason: 'Views have no “either … or”' })
  if (state.none) dropped.push({ what: 'What is excluded', reason: 'Views exclude nothing' })
  if (state.source?.kind === 'book' && !Object.keys(conditions).some(isOwn)) {
    dropped.push({ what: 'Only records of your book', reason: 'Views look everywhere' })
  } else if (state.source?.kind === 'view') {
    dropped.push({ what: 'Only records of this list', reason: 'Saved searches look everywhere' })
  }
  const text = state.query.trim()
  const q = operators.test(text) ? '' : text
  if (q !== text) dropped.push({ what: `“${text}”`, reason: 'Views have no “…”, OR, - and *' })
  const source: { source?: Source } = Object.keys(conditions).some(isOwn) ? { source: { kind: 'book' } } : {}
  return {
    definition: { version: 1, q, fields },
    stored: { dataset: book, ...source, query: q, conditions },
    dropped,
    widened,
  }
}

/** operators finds characters that are operators in a search and plain text in a View. */
const operators = /(^|\s)-["\p{L}\p{N}]|"|(^|\s)OR(\s|$)|\*(\s|$)/u

/** unique leaves out values that differ only in case or in spaces around them. */
function unique(values: string[]): string[] {
  const seen = new Set<string>()
  return values.filter((v) => {
    const folded = v.trim().toLowerCase()
    return !seen.has(folded) && seen.add(folded)
  })
}

/** digits formats a whole number: null if the grammar cannot express it (1 to 15 digits, not negative). */
function digits(text: string | undefined, round: (n: number) => number): string | null | undefined {
  if (text === undefined) return undefined
  const whole = String(round(Number(text)))
  return /^\d{1,15}$/.test(whole) ? whole : null
}

const differs = (whole: string | undefined, text: string | undefined) =>
  whole !== undefined && Number(whole) !== Number(text)

function ends(first: string, from: string | undefined, second: string, to: string | undefined) {
  return { ...(from === undefined ? {} : { [first]: from }), ...(to === undefined ? {} : { [second]: to }) }
}

/** fromDefinition is the search of a Dynamic View. */
export function fromDefinition({ definition }: View, book: Book): SearchState {
  const state: SearchState = { dataset: book, query: definition.q ?? '', conditions: {} }
  const fields = (definition.fields ?? {}) as Record<string, unknown>
  for (const [key, field] of Object.entries(grammar[book])) {
    const known = field.known && (fields[field.known] as string[] | undefined)
    if (known) state.conditions[key] = { kind: 'known', known: known[0] === 'known' }
    const value = fields[field.name]
    if (Array.isArray(value)) state.conditions[key] = { kind: 'values', values: value as string[] }
    else if (value) {
      const { min, max, after, before } = value as Record<string, string | undefined>
      state.conditions[key] = { kind: 'range', ...ends('from', min ?? after, 'to', max ?? before) }
    }
  }
  if (Object.keys(state.conditions).some(isOwn)) state.source = { kind: 'book' }
  return state
}

/** mergeSearches adds the conditions of a search within a View to those of the View, if the grammar can express both. */
export function mergeSearches(view: SearchState, within: SearchState): { state: SearchState; dropped: Loss[] } {
  const conditions = { ...view.conditions }
  const dropped: Loss[] = []
  for (const [key, c] of Object.entries(within.conditions)) {
    const before = conditions[key]
    const both = before ? intersection(before, c) : c
    if (both) conditions[key] = both
    else dropped.push({ key, reason: 'The View has another condition on this' })
  }
  const query = [view.query, within.query].filter(Boolean).join(' ')
  const tooLong = query.length > 500
  if (tooLong) dropped.push({ what: 'The text', reason: 'It is too long together with that of the View' })
  const { any, none } = within
  const groups = { ...(any ? { any } : {}), ...(none ? { none } : {}) }
  return { state: { ...view, ...groups, query: tooLong ? view.query : query, conditions }, dropped }
}

function intersection(a: Condition, b: Condition): Condition | undefined {
  if (a.kind === 'values' && b.kind === 'values' && !isMixed(a) && !isMixed(b)) {
    const values = a.values.filter((v) => b.values.some((w) => same(v, w)))
    return values.length > 0 ? { kind: 'values', values } : undefined
  }
  if (a.kind === 'range' && b.kind === 'range') {
    const from = extreme(a.from, b.from, 1)
    const to = extreme(a.to, b.to, -1)
    if (from !== undefined && to !== undefined && extreme(from, to, 1) !== to) return undefined
    return { kind: 'range', ...ends('from', from, 'to', to) }
  }
  return undefined
}

/** extreme is the later or larger (1), or the earlier or smaller (-1) of two ends, either of which may be open. */
function extreme(a: string | undefined, b: string | undefined, sign: 1 | -1): string | undefined {
  if (a === undefined || b === undefined) return a ?? b
  // Days compare as texts.
  const [one = a, other = b] = [daysOf({ from: a }).from, daysOf({ from: b }).from]
  const first = day.test(one) ? one > other : Number(one) > Number(other)
  return first === (sign === 1) ? a : b
}
