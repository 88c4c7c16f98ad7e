import { expect, it } from 'vitest'
import { countable, isCountable } from './countable'

const email = { email: { value: ['a@b.example'] } }
const role = { role: { value: ['owner'] } }

it('does not change a search without a condition on addresses', () => {
  const body = { query: 'x', filters: role, relations: { has_project: {} }, any: [{ filters: role }], none: [] }
  expect(isCountable(body)).toBe(true)
  expect(countable({ ...body, none: [{ filters: role }] })).toEqual({ ...body, none: [{ filters: role }] })
})

it.each([
  ['a filter', { filters: { ...email, ...role } }, { filters: role }],
  ['a related record', { relations: { has_contact: { ...email, ...role } } }, { relations: { has_contact: role } }],
  ['no such record', { relations: { without_contact: { ...email, ...role } } }, { relations: {} }],
  ['an alternative', { any: [{ filters: email }, { filters: role }] }, {}],
  ['what is excluded', { none: [{ filters: email }, { filters: role }] }, { none: [{ filters: role }] }],
])('never finds less: %s', (_, body, counted) => {
  expect(isCountable(body)).toBe(false)
  expect(countable(body)).toEqual(counted)
})
