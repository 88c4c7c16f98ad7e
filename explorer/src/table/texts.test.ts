import { expect, it } from 'vitest'
import type { AnyRecord } from '../datasets'
import { cellText, csvOf } from './texts'

const record = (members: object) => members as AnyRecord

it('writes CSV as atlas export does', () => {
  const records = [
    record({ id: '1', name: 'a, "b"\nc', cost: -114.07, account_types: ['x;y', 'z\\'] }),
    record({ id: '2', name: '=1+1', cost: null, account_types: [] }),
    record({ id: '3', name: ' \u00a0＋403', cost: 0, account_types: ['@x'] }),
    record({ id: '4', name: '<script> 😀', cost: 1e21, account_types: ['a', 'b'] }),
  ]
  expect(csvOf(records, ['name', 'cost', 'account_types'])).toBe(
    [
      'id,name,cost,account_types',
      '1,"a, ""b""\nc",-114.07,x\\;y;z\\\\',
      "2,'=1+1,,",
      "3,' \u00a0＋403,0,'@x",
      '4,<script> 😀,1e+21,a;b',
      '',
    ].join('\n'),
  )
  expect(csvOf([], ['name', 'id'])).toBe('name,id\n')
})

it('copies a cell as a program reads it', () => {
  const r = record({ cost: 25000.5, city: null, domains: ['a.example', 'b.example'] })
  expect(['cost', 'city', 'domains', 'colour'].map((key) => cellText(r, key))).toEqual([
    ...['25000.5', '', 'a.example, b.example', ''],
  ])
})
