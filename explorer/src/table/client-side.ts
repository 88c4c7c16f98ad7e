import { DerivedPage, Rows } from '../api/pages'
import type { Body } from '../api/body'
import { rows as members, sorts, type TableName } from '../api/rows'
import type { Sort } from '../api/queries'
import type { AnyRecord } from '../datasets'
import { valueOf } from '../search/columns'
import { endOf } from '../search/relative'

// Searches that are computed from loaded rows: conditions on numbers, dates and closed values in the
// rows, and orders that the service would also give. Everything else is requested from the API.

type Test = (record: AnyRecord) => boolean
/** Filter is a condition as a request has it. */
interface Filter {
  value?: unknown
  known?: boolean
  exact_match?: boolean
}

/** memberOf is the member of a row for a filter; a filter on one value of a list is in the singular. */
function memberOf(table: TableName, key: string): string | undefined {
  return [key, `${key}s`].find((name) => name in members[table])
}

/** testOf tests a row by a filter as the service does; undefined where only the service can. */
function testOf(table: TableName, key: string, { value, known }: Filter): Test | undefined {
  const member = memberOf(table, key)
  const type = member && members[table][member]
  if (!member || !type) return undefined
  const of = (record: AnyRecord) => valueOf(record, member)
  const comparable = type === 'number' || type === 'date' || type === 'enum' || key === 'account_type'
  if (!comparable) return undefined
  if (known !== undefined) return (record) => (of(record) !== undefined) === known
  if (!Array.isArray(value)) return undefined
  if (type === 'number' || type === 'date') {
    const ends = boundsOf(type, value)
    if (!ends) return undefined
    return (record) => {
      const at = placeOf(of(record), type)
      return at !== undefined && at >= ends[0] && at <= ends[1]
    }
  }
  const values = new Set(value.map((v) => String(v).toLowerCase()))
  return (record) => {
    const has = of(record)
    return (Array.isArray(has) ? has : [has]).some((v) => typeof v === 'string' && values.has(v.toLowerCase()))
  }
}

/** placeOf is the position of a number or an instant among others. */
function placeOf(value: unknown, type: 'number' | 'date'): number | undefined {
  if (value === undefined) return undefined
  return type === 'number' ? Number(value) : Date.parse(String(value))
}

/** boundsOf are the inclusive ends of a range, of dates in milliseconds; undefined if they move within a day. */
function boundsOf(type: 'number' | 'date', [from, to]: unknown[]): [number, number] | undefined {
  const end = (value: unknown, which: 'from' | 'to', open: number) => {
    if (value === null || value === undefined) return open
    return type === 'number' ? Number(value) : endOf(String(value), which)
  }
  const first = end(from, 'from', -Infinity)
  const last = end(to, 'to', Infinity)
  return first === undefined || last === undefined ? undefined : [first, last]
}

/** isWithin reports whether everything that matches a filter also matches another, previous one. */
function isWithin(table: TableName, key: string, before: Filter, now: Filter): boolean {
  if (before.known === true) return now.value !== undefined
  if (!Array.isArray(before.value) || !Array.isArray(now.value)) return false
  const type = members[table][memberOf(table, key) ?? '']
  if (type === 'number' || type === 'date') {
    const [outer, inner] = [boundsOf(type, before.value), boundsOf(type, now.value)]
    return outer !== undefined && inner !== undefined && outer[0] <= inner[0] && inner[1] <= outer[1]
  }
  const all = new Set(before.value.map((v) => String(v).toLowerCase()))
  return now.value.every((v) => all.has(String(v).toLowerCase()))
}

const equal = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/**
 * clientFilter tests which rows of one search another one also finds, if it finds no others;
 * undefined if only the service can tell.
 */
export function clientFilter(table: TableName, before: Body, now: Body): Test | undefined {
  const { filters: previous = {}, ...restBefore } = before
  const { filters: next = {}, ...restNow } = now
  if (!equal(sorted(restBefore), sorted(restNow)) || Object.keys(previous).some((key) => !(key in next)))
    return undefined
  const tests: Test[] = []
  for (const [key, filter] of Object.entries(next) as [string, Filter][]) {
    const known = previous[key] as Filter | undefined
    if (equal(known, filter)) continue
    const test = testOf(table, key, filter)
    if (!test || (known && !isWithin(table, key, known, filter))) return undefined
    tests.push(test)
  }
  return (record) => tests.every((test) => test(record))
}

const sorted = (o: object) => Object.entries(o).sort(([a], [b]) => (a < b ? -1 : 1))

/** Names whose folding is their lower case: others are compared by the service. */
const plain = /^[\x20-\x5f\x61-\x7e]*$/

/** sortedPositions are the positions of rows in the order of the service: ties by id, unknown values last. Undefined where only the service can. */
export function sortedPositions(table: TableName, { field, order }: Sort, records: AnyRecord[]): number[] | undefined {
  const type = members[table][field]
  if (!type || !sorts[table].includes(field)) return undefined
  const keys = records.map((record): string | number | undefined => {
    const value = valueOf(record, field)
    return type === 'number' || type === 'date' ? placeOf(value, type) : (value as string | undefined)?.toLowerCase()
  })
  if (keys.some((key) => typeof key === 'string' && !plain.test(key))) return undefined
  const sign = order === 'asc' ? 1 : -1
  const ids = records.map((r) => r.id)
  return keys
    .map((_, i) => i)
    .sort((i, j) => {
      const [a, b] = [keys[i], keys[j]]
      if (a !== b) {
        if (a === undefined) return 1
        if (b === undefined) return -1
        return a < b ? -sign : sign
      }
      return (ids[i] ?? '') < (ids[j] ?? '') ? -1 : 1
    })
}

/** The search of rows. */
export interface RowsQuery {
  body: Body
  sort: Sort | undefined
}

/**
 * deriveRows filters and sorts the rows of a completely loaded search for another search; undefined if
 * only the service can.
 */
export function deriveRows(table: TableName, from: RowsQuery, rows: Rows, now: RowsQuery): DerivedPage | undefined {
  const test = clientFilter(table, from.body, now.body)
  if (!test) return undefined
  const all = Array.from({ length: rows.length }, (_, i) => rows.at(i))
  let order = all.flatMap((record, i) => (record && test(record) ? [i] : []))
  if (!equal(from.sort, now.sort)) {
    const found = order.flatMap((i) => all[i] ?? [])
    const within = now.sort && sortedPositions(table, now.sort, found)
    if (!within) return undefined
    order = within.map((i) => order[i] ?? 0)
  }
  return new DerivedPage(rows, order)
}
