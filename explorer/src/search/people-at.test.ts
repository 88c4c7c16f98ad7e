import { expect, test } from 'vitest'
import { bodyOf, format, limitOf, parse } from './state'
import type { KindOf } from './conditions'
import { maxFirms, peopleAt } from './people-at'

const kindOf: KindOf = (_, key) => (key === 'account_id' ? 'id' : undefined)
const firms = Array.from({ length: 1100 }, (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`)

test.each([1, 100, 101, 250, 1100])('people at %d firms are a search that the service takes', (count) => {
  const state = peopleAt(firms.slice(0, count))
  const body = bodyOf(state, kindOf)
  expect(limitOf(body)).toBeUndefined()
  const sentIds = [body, ...(body.any ?? [])].flatMap(
    ({ filters = {} }) => (filters.account_id as { value: string[] } | undefined)?.value ?? [],
  )
  expect(sentIds).toEqual(firms.slice(0, Math.min(count, maxFirms)))
  // The address describes the same search.
  const { pathname, search } = new URL(format(state), 'http://localhost')
  expect(bodyOf(parse(pathname, search, kindOf), kindOf)).toEqual(body)
})
