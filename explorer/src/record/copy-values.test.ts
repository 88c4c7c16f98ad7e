import { expect, it } from 'vitest'
import type { AnyRecord } from '../datasets'
import { copyValueForKey, copyValueOf, safeLink } from './copy-values'

const record = (members: object) => ({ id: 'r', name: 'Record', city: 'Calgary', state: 'AB', ...members }) as AnyRecord

it('copies a phone number and an address with its place, by their keys', () => {
  const project = record({ address: '123 8 AV SE', country: 'CA', phone: null })
  expect(copyValueForKey(project, 'a')?.text).toBe('123 8 AV SE, Calgary, AB, CA')
  expect(copyValueForKey(project, 'p')).toBeUndefined()
  expect(copyValueForKey(record({ phone: '+1 403 555 0100' }), 'p')).toEqual({
    name: 'The phone number',
    text: '+1 403 555 0100',
    key: 'p',
  })
  expect(copyValueForKey(project, 'constructor')).toBeUndefined()
  expect(copyValueOf(record({ notes: 'ours' }), 'notes')).toBeUndefined()
})

it.each([
  ['https://data.calgary.ca/p?q=1', 'https://data.calgary.ca/p?q=1'],
  ['HTTPS://data.calgary.ca', 'https://data.calgary.ca/'],
  ['http://data.calgary.ca/', undefined],
  ['javascript:alert(1)//https://', undefined],
  [' https://data.calgary.ca/', undefined],
  ['https://calgary.ca@evil.example/', undefined],
  ['https://', undefined],
  ['data:text/html,<script>', undefined],
  ['//evil.example', undefined],
])('links to %s', (text, to) => {
  expect(safeLink(text)).toBe(to)
})
