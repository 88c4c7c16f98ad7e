import { QueryClient } from '@tanstack/react-query'
import { expect, it } from 'vitest'
import { namesOf } from '../search/columns'
import { namesIn } from './related-names'

const contact = { id: 'c', name: 'Cleo', account_id: 'a' }

it('has names of records read by ids, included records, and missing ones', () => {
  const client = new QueryClient()
  client.setQueryData(['batch', 'w', 'accounts', ['a', 'b']], [{ id: 'a', name: 'Ada' }])
  client.setQueryData(['batch', 'w', 'accounts', 'projects p'], [{ id: 'd', name: 'Dee' }])
  client.setQueryData(['batch', 'w', 'contacts', 'to call', ['a', 'd']], [contact])
  client.setQueryData(['batch', 'other', 'accounts', ['x']], [{ id: 'x', name: 'X' }])
  const { records, toCall } = namesIn(client, 'w')
  expect([...records].map(([id, r]) => [id, r && 'name' in r && r.name])).toEqual([
    ['a', 'Ada'],
    ['b', null],
    ['d', 'Dee'],
    ['c', 'Cleo'],
  ])
  expect([...toCall]).toEqual([
    ['a', contact],
    ['d', null],
  ])
})

it('names three, and counts the others', () => {
  const nameOf = (id: string) => ({ a: 'Ada', c: 'Cole' })[id]
  expect(namesOf(['a'], nameOf)).toBe('Ada')
  expect(namesOf(['a', 'b', 'c'], nameOf)).toBe('Ada, …, Cole')
  expect(namesOf(['a', 'b', 'c', 'd', 'e'], nameOf)).toBe('Ada, …, Cole and 2 more')
})
