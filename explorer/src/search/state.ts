import type { Body } from '../api/queries'
import type { Dataset, FieldKind } from '../datasets'
import { pathOf, scopeOf, type Scope } from '../source'

/** Condition is what a search wants of one field. */
export type Condition =
  /** One of the values, or with unknown none at all. */
  | { kind: 'values'; values: string[]; unknown?: boolean }
  /** Inclusive; an end that is missing is open. Dates are YYYY-MM-DD. */
  | { kind: 'range'; from?: string; to?: string }
  | { kind: 'known'; known: boolean }

/** SearchState is the search that the address describes. */
export interface SearchState extends Scope {
  query: string
  conditions: Record<string, Condition>
  sort?: { field: string; order: 'asc' | 'desc' }
  /** The View whose definition is changed. */
  edits?: string
}

/** kindOf returns the kind of a field, undefined for one that cannot be searched. */
export type KindOf = (dataset: Dataset, key: string) => FieldKind | undefined

/**
 * How many fields may have both values and unknown: a request takes 10 groups, and each
 * such field doubles them. Of further fields unknown takes the place of the values.
 */
const maxMixed = 3

// Names in the address that are no keys of fields.
const names = { query: 'q', sort: 'sort', known: 'known', unknown: 'unknown', edits: 'view' }

/**
 * parse reads an address: /dataset/record?q=text&key=value&key=from..to&unknown=key&sort=field:desc.
 * Pairs of key and value are those of `atlas search --filter`. What it does not know it ignores.
 * ofView is the dataset of the View in the path.
 */
export function parse(path: string, search: string, kindOf: KindOf, ofView?: Dataset): SearchState {
  const state: SearchState = { ...scopeOf(path, ofView), query: '', conditions: {} }
  const { dataset } = state
  const mayMix = () => Object.values(state.conditions).filter((c) => c.kind === 'values' && c.unknown).length < maxMixed
  for (const [name, value] of new URLSearchParams(search)) {
    if (name === names.query) {
      state.query = value
    } else if (name === names.sort) {
      const [field = '', order] = value.split(':')
      state.sort = { field, order: order === 'desc' ? 'desc' : 'asc' }
    } else if (name === names.edits) {
      state.edits = value
    } else if (name === names.known || name === names.unknown) {
      if (!kindOf(dataset, value)) continue
      const before = state.conditions[value]
      state.conditions[value] =
        name === names.unknown && before?.kind === 'values' && mayMix()
          ? { ...before, unknown: true }
          : { kind: 'known', known: name === names.known }
    } else {
      const kind = kindOf(dataset, name)
      if (kind === 'values') {
        const before = state.conditions[name]
        if (before?.kind === 'values') state.conditions[name] = { ...before, values: [...before.values, value] }
        else {
          const unknown = before?.kind === 'known' && !before.known && mayMix()
          state.conditions[name] = { kind: 'values', values: [value], ...(unknown ? { unknown } : {}) }
        }
      } else if (kind) {
        const range = parseRange(value)
        if (range) state.conditions[name] = range
      }
    }
  }
  return state
}

function parseRange(text: string): Condition | undefined {
  const dots = text.indexOf('..')
  const [from, to] = dots < 0 ? [text, text] : [text.slice(0, dots), text.slice(dots + 2)]
  if (!from && !to) return undefined
  return { kind: 'range', ...(from ? { from } : {}), ...(to ? { to } : {}) }
}

/** format is the inverse of parse. */
export function format(state: SearchState): string {
  const pairs: string[] = []
  // Colons, commas and dots are allowed in a query and easier to read as they are.
  const encode = (text: string) =>
    encodeURIComponent(text).replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%20', '+')
  const add = (name: string, value: string) => pairs.push(`${encode(name)}=${encode(value)}`)
  if (state.query) add(names.query, state.query)
  for (const [key, c] of Object.entries(state.conditions)) {
    if (c.kind === 'values') {
      c.values.forEach((v) => add(key, v))
      if (c.unknown) add(names.unknown, key)
    } else if (c.kind === 'range')
      add(key, c.from !== undefined && c.from === c.to ? c.from : `${c.from ?? ''}..${c.to ?? ''}`)
    else add(c.known ? names.known : names.unknown, key)
  }
  if (state.sort) add(names.sort, `${state.sort.field}:${state.sort.order}`)
  if (state.edits) add(names.edits, state.edits)
  const path = pathOf(state)
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path
}

/** withCondition sets or removes the condition on a field. */
export function withCondition(state: SearchState, key: string, condition: Condition | undefined): SearchState {
  const { [key]: _, ...conditions } = state.conditions
  if (condition?.kind === 'values' && condition.values.length === 0) {
    if (condition.unknown) conditions[key] = { kind: 'known', known: false }
  } else if (condition) conditions[key] = condition
  return { ...state, conditions }
}

/** cleared is a search without conditions in the same place. */
export function cleared({ dataset, source, edits }: SearchState): SearchState {
  return { dataset, ...(source ? { source } : {}), query: '', conditions: {}, ...(edits ? { edits } : {}) }
}

export const isEmpty = (state: SearchState) => !state.query && Object.keys(state.conditions).length === 0

/** isMixed reports whether a condition takes values and unknown, which a filter cannot say. */
export const isMixed = (c: Condition | undefined) => c?.kind === 'values' && c.unknown === true

/** isExact reports whether values are whole texts: of a status they are, of other text fields words. */
export const isExact = (key: string) => key === 'workspace_status'
const exact = (key: string) => (isExact(key) ? { exact_match: true } : {})

/** bodyOf returns the conditions of a request. */
export function bodyOf(state: SearchState, kindOf: KindOf): Body {
  const filters: Record<string, unknown> = {}
  // A group for each choice between values and unknown.
  let groups: Record<string, unknown>[] = [{}]
  for (const [key, c] of Object.entries(state.conditions)) {
    if (c.kind === 'known') filters[key] = { known: c.known }
    else if (isMixed(c) && c.kind === 'values') {
      groups = groups.flatMap((g) => [
        { ...g, [key]: { value: c.values, ...exact(key) } },
        { ...g, [key]: { known: false } },
      ])
    } else if (c.kind === 'values') filters[key] = { value: c.values, ...exact(key) }
    else {
      const bound = (text: string | undefined) =>
        text === undefined ? null : kindOf(state.dataset, key) === 'number' ? Number(text) : text
      filters[key] = { value: [bound(c.from), bound(c.to)] }
    }
  }
  return {
    ...(state.source ? { source: state.source } : {}),
    ...(state.query ? { query: state.query } : {}),
    ...(Object.keys(filters).length > 0 ? { filters } : {}),
    ...(groups.length > 1 ? { any: groups.map((group) => ({ filters: group })) } : {}),
  }
}
