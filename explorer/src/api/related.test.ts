import { QueryClient } from '@tanstack/react-query'
import { expect, it } from 'vitest'
import type { AnyRecord } from '../datasets'
import { findLoaded, recordQuery } from './queries'
import { splitIncluded, includedQuery, cacheIncluded } from './related'

const record = (id: string, more: object = {}) => ({ id, name: `Record ${id}`, ...more }) as unknown as AnyRecord

it('splits included records from a record, also one or none', () => {
  const signal = record('s', { project: record('p'), accounts: [record('a'), record('b')] })
  const [alone, related] = splitIncluded('signals', signal)
  expect(alone).toEqual(record('s'))
  expect([...related]).toEqual([
    ['projects', [record('p')]],
    ['accounts', [record('a'), record('b')]],
  ])
  expect([...splitIncluded('contacts', record('c', { projects: [], account: null }))[1]]).toEqual([
    ['projects', []],
    ['accounts', []],
  ])
  // An earlier read says nothing about related records.
  expect([...splitIncluded('projects', record('p'))[1]]).toEqual([])
  expect(signal).toHaveProperty('project')
})

it('finds included records in the cache, in their workspace only', () => {
  const client = new QueryClient()
  const alone = cacheIncluded(
    client,
    'w',
    'accounts',
    record('a', { projects: [record('p')], contacts: [], signals: [] }),
  )
  expect(alone).toEqual(record('a'))
  expect(findLoaded(client, 'w', 'projects', 'p')).toEqual(record('p'))
  expect(findLoaded(client, 'x', 'projects', 'p')).toBeUndefined()
  expect(client.getQueryData(includedQuery('w', 'contacts', 'accounts', 'a').queryKey)).toEqual([])
  expect(client.getQueryData(includedQuery('w', 'contacts', 'accounts', 'b').queryKey)).toBeUndefined()
  expect(client.getQueryData(recordQuery('w', 'accounts', 'a').queryKey)).toBeUndefined()
})
