import { describe, expect, test } from 'vitest'
import { row } from '../csv'
import { csv, csvHead, ndjson } from './format'
import { fileName } from './save'
import { elements, members } from './raw-json'

const columns = ['id', 'name', 'tags', 'cost']

// The cases of cmd/internal/search/csv_test.go.
describe('csv', () => {
  test.each([
    ['plain', `{"id":"1","name":"A","tags":["x","y"],"cost":1.50}`, '1,A,x;y,1.50\n'],
    ['unknown', `{"id":"1","name":null,"tags":[]}`, '1,,,\n'],
    ['quoted', `{"id":"1","name":"a, \\"b\\"\\nc","tags":["x,y"],"cost":null}`, '1,"a, ""b""\nc","x,y",\n'],
    ['spaces', `{"id":"1","name":" a ","tags":null,"cost":0}`, '1," a ",,0\n'],
    ['signs of lists', `{"id":"1","name":"a;b\\\\","tags":["a;b","c\\\\d"],"cost":0}`, '1,a;b\\,a\\;b;c\\\\d,0\n'],
    ['objects', `{"id":"1","name":{"a": [1]},"tags":true}`, '1,"{""a"": [1]}",true,\n'],
    [
      'big numbers',
      `{"id":"1","cost":12345678901234567890.10,"tags":[9007199254740993]}`,
      '1,,9007199254740993,12345678901234567890.10\n',
    ],
    ['formulas', `{"id":"=1+1","name":"+1 403","tags":["@x","-y"],"cost":-114.07}`, `'=1+1,'+1 403,'@x;-y,-114.07\n`],
    [
      'hidden formulas',
      `{"id":"\\t=1","name":"  =cmd|' /C calc'!A0","tags":["\\u00a0＝1"],"cost":"\\r1"}`,
      `'\t=1,'  =cmd|' /C calc'!A0,'\u00a0＝1,"'\r1"\n`,
    ],
    ['harmless', `{"id":"a=b","name":"x-y","tags":["a@b.example"],"cost":0}`, 'a=b,x-y,a@b.example,0\n'],
  ])('%s', (_, record, want) => expect(csv(record, columns)).toBe(want))

  test('a single empty cell is quoted', () => expect(csv('{"name":null}', ['name'])).toBe('""\n'))
  test('spaces that only Unicode knows are quoted', () =>
    expect(row(['\u2003a', 'b\u0085'])).toBe('"\u2003a","b\u0085"\n'))
})

test('a file for people has the names and days of the table', () => {
  const people = {
    heads: { icp_tier: 'Tier', updated_at: 'Changed by us' },
    values: { icp_tier: { tier_1: 'Tier 1' }, account_types: { developer: 'Developer' } },
    days: ['updated_at'],
  }
  const columns = ['name', 'icp_tier', 'account_types', 'updated_at']
  expect(csvHead(columns, { people })).toBe('name,Tier,account_types,Changed by us\n')
  const record =
    '{"name":"a_b","icp_tier":"tier_1","account_types":["developer","sub_contractor"],"updated_at":"2026-11-27T13:42:24.308Z"}'
  expect(csv(record, columns, { people })).toBe('a_b,Tier 1,Developer;sub contractor,2026-11-27\n')
  expect(csv('{"name":"=1","icp_tier":null,"updated_at":null}', columns, { people })).toBe("'=1,,,\n")
})

test('a file is called what was exported, whatever its name has', () => {
  const name = (name?: string) =>
    fileName({ ...(name === undefined ? {} : { name }), dataset: 'projects', startedAt: 0, format: 'csv' })
  expect(name('Large multifamily')).toBe('Large-multifamily-1970-01-01.csv')
  expect(name('../..\\<b>\u202ex.exe\0')).toBe('b-x-exe-1970-01-01.csv')
  expect([name(), name('…')]).toEqual(Array(2).fill('projects-1970-01-01.csv'))
})

test('ndjson has a record unchanged, in one line', () =>
  expect(ndjson('{"a": 1.50,\r\n "b":"\\u003c\\n"}')).toBe('{"a": 1.50, "b":"\\u003c\\n"}\n'))

describe('raw JSON', () => {
  test('choices of CSV', () => {
    const record = '{"id":"=1+1","tags":["@x"],"cost":-1}'
    expect(csv(record, ['id', 'tags', 'cost'], { formulas: true })).toBe('=1+1,@x,-1\n')
    expect(csvHead(['id', 'name'], { excel: true })).toBe('\ufeffid,name\n')
    expect(csvHead(['id', 'name'])).toBe('id,name\n')
  })
  test('lists', () => {
    expect(elements(' [ {"a":[1,{"b":"}]"}]} , "x,\\"y" ,null,-1.50e3,[] ] ')).toEqual([
      '{"a":[1,{"b":"}]"}]}',
      '"x,\\"y"',
      'null',
      '-1.50e3',
      '[]',
    ])
    expect(elements('[]')).toEqual([])
  })
  test('objects', () => {
    expect([...members('{"a:,":{"b":1}, "\\u0063" : [ {} ],"d":""}')]).toEqual([
      ['a:,', '{"b":1}'],
      ['c', '[ {} ]'],
      ['d', '""'],
    ])
    expect([...members('{}')]).toEqual([])
  })
})
