import type { Body } from '../api/body'
import type { Dataset, FieldKind } from '../datasets'
import { relationOf } from '../datasets'
import { isExact, type Condition, type Conditions, type KindOf, type Parts } from '../search/conditions'
import type { Place } from '../search/place'
import { bodyOf, format, parse, type SearchState } from '../search/state'
import type { Scope } from '../source'

// The inverse of bodyOf. Its result is converted back and compared: a search for other records is
// not the inverse.

/** parseBody returns the search of a request with these conditions, undefined if no address can express them. */
export function parseBody(body: Body, scope: Scope, kindOf: KindOf): SearchState | undefined {
  const { dataset } = scope
  const groups = (all: Parts[] = []) => all.map((group) => parseParts(group, dataset, kindOf))
  const [any, none] = [groups(body.any), groups(body.none)]
  const state: SearchState = {
    ...scope,
    query: body.query ?? '',
    conditions: parseParts(body, dataset, kindOf),
    ...(any.length > 0 ? { any } : {}),
    ...(none.length > 0 ? { none } : {}),
  }
  const address = addressOf(state)
  if (address === undefined) return undefined
  const { pathname, search } = new URL(address, 'http://x')
  const shown = parse(pathname, search, kindOf, dataset)
  return same(bodyOf(shown, kindOf), body) ? state : undefined
}

/** addressOf is the address of a search; undefined for an unpaired surrogate, which no address can have. */
function addressOf(state: SearchState): string | undefined {
  try {
    return format(state)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

function parseParts({ filters = {}, relations = {} }: Parts, dataset: Dataset, kindOf: KindOf): Conditions {
  const conditions: Conditions = {}
  for (const [key, filter] of Object.entries(filters)) {
    const condition = parseFilter(filter, key, kindOf(dataset, key))
    if (condition) conditions[key] = condition
  }
  for (const [key, related] of Object.entries(relations)) {
    const { dataset: of } = relationOf(key) ?? { dataset }
    conditions[key] = { kind: 'related', conditions: parseParts({ filters: related }, of, kindOf) }
  }
  return conditions
}

function parseFilter(filter: unknown, key: string, kind: FieldKind | undefined): Condition | undefined {
  const { known, value, exact_match } = (filter ?? {}) as { known?: boolean; value?: unknown; exact_match?: boolean }
  if (known !== undefined) return { kind: 'known', known }
  if (kind === 'place') {
    const place = (value ?? {}) as object
    return placeForms.some((form) => form in place) ? ({ kind: 'place', ...place } as Place) : undefined
  }
  const values = Array.isArray(value) ? (value as unknown[]) : [value]
  if (kind === 'number' || kind === 'date') {
    const [from, to] = values.map((end) => (end === null ? undefined : String(end)))
    return { kind: 'range', ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
  }
  return { kind: 'values', values: values.map(String), ...(exact_match && !isExact(key) ? { exact: true } : {}) }
}

/** The forms of a place. */
const placeForms = ['near', 'within', 'polygon']

/** same compares the meaning of conditions: one value equals a list of one, and defaults may be left out. */
const same = (a: Body, b: Body) => textOf(plain(a)) === textOf(plain(b))

function plain({ query, any, none, filters, relations }: Body) {
  const groups = (all: Parts[] = []) => all.map(plainParts).filter((g) => Object.keys(g).length > 0)
  return {
    query: query ?? '',
    ...plainParts({ ...(filters ? { filters } : {}), ...(relations ? { relations } : {}) }),
    any: groups(any),
    none: groups(none),
  }
}

function plainParts({ filters = {}, relations = {} }: Parts) {
  const of = (all: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(all).map(([key, filter]) => [key, plainFilter(filter)]))
  return {
    ...(Object.keys(filters).length > 0 ? { filters: of(filters) } : {}),
    ...(Object.keys(relations).length > 0
      ? { relations: Object.fromEntries(Object.entries(relations).map(([key, related]) => [key, of(related)])) }
      : {}),
  }
}

function plainFilter(filter: unknown) {
  if (typeof filter !== 'object' || filter === null) return filter
  const { exact_match, value, ...rest } = filter as { exact_match?: boolean; value?: unknown }
  const list = typeof value === 'string' || typeof value === 'number' ? [value] : value
  return { ...rest, ...(exact_match ? { exact_match } : {}), ...(list === undefined ? {} : { value: list }) }
}

/** textOf is a value without the order of its members, which the store does not preserve. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) =>
    v !== null && typeof v === 'object' && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  )
}
