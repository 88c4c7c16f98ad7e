import type { Body } from '../api/body'
import type { Dataset } from '../datasets'
import { pathOf, scopeOf, type Scope } from '../source'
import { formatColumns, parseColumns, type Chosen } from '../table/choice'
import { tableOf } from '../table/fields'
import {
  isMixed,
  partsOf,
  read,
  readPairs,
  write,
  writePairs,
  type Condition,
  type Conditions,
  type KindOf,
  type Pair,
} from './conditions'

export { isMixed, type Condition, type KindOf } from './conditions'

/** looks are the ways to look at a search; a table if none is named. */
export const looks = ['map', 'chart', 'pivot'] as const
export type Look = (typeof looks)[number]

/** SearchState is the search that the address describes. */
export interface SearchState extends Scope {
  query: string
  conditions: Conditions
  /** Groups one of which must be met. */
  any?: Conditions[]
  /** Groups none of which may be met. */
  none?: Conditions[]
  look?: Look
  /** What the map shows: latitude,longitude,zoom. */
  at?: string
  /** The dimension of the chart or the rows of the pivot: a field, of dates with an interval: permitted_at:month. */
  by?: string
  /** The columns of the pivot, as `by`. */
  across?: string
  /** The measure of the chart, if it is not the count: sum:cost. */
  of?: string
  sort?: { field: string; order: 'asc' | 'desc' }
  /** The columns of the table, if they are not the default. */
  columns?: Chosen[]
  /** The View whose definition is changed. */
  edits?: string
}

/**
 * How many fields may have both values and unknown: a request takes 10 groups, and each such
 * field doubles them. For further fields unknown replaces the values.
 */
const maxMixed = 3

// Names in the address that are no keys of fields.
const names = { query: 'q', sort: 'sort', look: 'look', columns: 'cols', edits: 'view' }
const lists = ['any', 'none'] as const
/** Names of a look's parameters. */
const lookParameters = ['at', 'by', 'across', 'of'] as const

/** The limits of the groups of a request, of any and none together. */
const groupLimits = { groups: 10, conditions: 50 }

/**
 * parse reads an address:
 * /dataset/record?q=text&key=value&key=from..to&unknown=key&sort=field:desc&look=map&cols=key,key:width.
 * A group is any=key=value;key=from..to or none=…. It ignores what it does not know, and groups
 * beyond the limit of a request. ofView is the dataset of the View in the path.
 */
export function parse(path: string, search: string, kindOf: KindOf, ofView?: Dataset): SearchState {
  let state: SearchState = { ...scopeOf(path, ofView), query: '', conditions: {} }
  const { dataset } = state
  const pairs: Pair[] = []
  for (const [name, value] of new URLSearchParams(search)) {
    if (name === names.query) state.query = value
    else if (name === 'any' || name === 'none') {
      const group = read(readPairs(value), dataset, kindOf, () => false)
      const before = state[name] ?? []
      if (Object.keys(group).length > 0 && before.length < groupLimits.groups) state[name] = [...before, group]
    } else if (name === names.sort) {
      const [field = '', order] = value.split(':')
      state.sort = { field, order: order === 'desc' ? 'desc' : 'asc' }
    } else if (name === names.columns) {
      const columns = parseColumns(tableOf(state), value)
      if (columns) state.columns = columns
    } else if (name === names.edits) {
      state.edits = value
    } else if (name === names.look) {
      const look = looks.find((l) => l === value)
      if (look) state.look = look
    } else if (isLookParameter(name)) {
      state[name] = value
    } else pairs.push([name, value])
  }
  // A group cannot have both its own condition on a field and the choice between values and
  // unknown.
  const mayMix = (key: string, all: Conditions) =>
    !state.any?.some((group) => key in group) && Object.values(all).filter(isMixed).length < maxMixed
  state.conditions = read(pairs, dataset, kindOf, mayMix)
  while (limitOf(bodyOf(state, kindOf))) {
    const last = state.none ? 'none' : 'any'
    state = withGroups(state, last, state[last]?.slice(0, -1) ?? [])
  }
  return state
}

const isLookParameter = (name: string): name is (typeof lookParameters)[number] =>
  lookParameters.some((n) => n === name)

/** format is the inverse of parse. */
export function format(state: SearchState): string {
  const pairs: string[] = []
  // Colons, commas and dots are allowed in a query and easier to read as they are.
  const encode = (text: string) =>
    encodeURIComponent(text)
      .replace(/%(3A|2C|3B|3D)/g, decodeURIComponent)
      .replaceAll('%20', '+')
  const add = (name: string, value: string) => pairs.push(value === '' ? name : `${name}=${encode(value)}`)
  if (state.query) add(names.query, state.query)
  write(state.conditions).forEach((pair) => add(...pair))
  for (const name of lists) state[name]?.forEach((group) => add(name, writePairs(write(group))))
  if (state.sort) add(names.sort, `${state.sort.field}:${state.sort.order}`)
  if (state.columns) add(names.columns, formatColumns(state.columns))
  if (state.look) add(names.look, state.look)
  for (const name of lookParameters) if (state.look && state[name]) add(name, state[name])
  if (state.edits) add(names.edits, state.edits)
  const path = pathOf(state)
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path
}

/** withGroups replaces the groups of a list; a list without groups goes. */
export function withGroups(state: SearchState, of: 'any' | 'none', groups: Conditions[]): SearchState {
  const { [of]: _, ...rest } = state
  return groups.length > 0 ? { ...rest, [of]: groups } : rest
}

/** withCondition sets or removes the condition on a field. */
export function withCondition(state: SearchState, key: string, condition: Condition | undefined): SearchState {
  const { [key]: _, ...conditions } = state.conditions
  if (condition?.kind === 'values' && condition.values.length === 0) {
    if (condition.unknown) conditions[key] = { kind: 'known', known: false }
  } else if (condition) conditions[key] = condition
  return { ...state, conditions }
}

/** cleared is the search for everything in the same place, with the same look. */
export function cleared({ dataset, source, look, by, across, of, edits }: SearchState): SearchState {
  return {
    dataset,
    ...(source ? { source } : {}),
    query: '',
    conditions: {},
    ...(look ? { look } : {}),
    ...(by ? { by } : {}),
    ...(across ? { across } : {}),
    ...(of ? { of } : {}),
    ...(edits ? { edits } : {}),
  }
}

export const isEmpty = (state: SearchState) =>
  !state.query && Object.keys(state.conditions).length === 0 && !state.any && !state.none

/** bodyOf returns the conditions of a request. */
export function bodyOf(state: SearchState, kindOf: KindOf): Body {
  const { dataset, source, query, conditions, any = [], none = [] } = state
  const parts = (c: Conditions) => partsOf(c, dataset, kindOf)
  const plain = Object.entries(conditions).filter(([, c]) => !isMixed(c))
  // A group for each choice between values and unknown.
  let groups = any.length > 0 ? any : [{}]
  for (const [key, c] of Object.entries(conditions)) {
    if (c.kind !== 'values' || !c.unknown) continue
    const { unknown: _, ...values } = c
    const choices: Condition[] = [values, { kind: 'known', known: false }]
    groups = groups.flatMap((g) => choices.map((choice) => ({ ...g, [key]: choice })))
  }
  return {
    ...(source ? { source } : {}),
    ...(query ? { query } : {}),
    ...parts(Object.fromEntries(plain)),
    ...(groups.some((g) => Object.keys(g).length > 0) ? { any: groups.map(parts) } : {}),
    ...(none.length > 0 ? { none: none.map(parts) } : {}),
  }
}

/** limitOf explains why the service would refuse a request with so many groups. */
export function limitOf({ any = [], none = [] }: Body): string | undefined {
  const groups = [...any, ...none]
  const conditions = groups
    .flatMap(({ filters = {}, relations = {} }) => [filters, relations, ...Object.values(relations)])
    .reduce((n, part) => n + Object.keys(part).length, 0)
  if (groups.length > groupLimits.groups) {
    return `A search takes ${groupLimits.groups} alternatives and exclusions together; this would make ${groups.length}.`
  }
  if (conditions > groupLimits.conditions) {
    return `The alternatives and exclusions of a search take ${groupLimits.conditions} conditions together; this would make ${conditions}.`
  }
  return undefined
}
