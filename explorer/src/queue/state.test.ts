import { expect, test } from 'vitest'
import { badge, bodyOf, format, parse } from './state'

test('an address is parsed and formatted without loss', () => {
  for (const address of ['/queue', '/queue?q=roof+top&type=permit_filed&book=1&dismissed=1', '/queue?book=1']) {
    expect(format(parse(address.slice('/queue'.length)))).toBe(address)
  }
  expect(parse('?q=%20&type=')).toEqual({ inBook: false, dismissed: false })
})

test('the empty state searches for everything unread', () => {
  expect(bodyOf(parse(''))).toEqual({})
  expect(bodyOf(parse('?type=permit_filed&q=roof&book=1&dismissed=1'))).toEqual({
    query: 'roof',
    filters: { signal_type: { value: 'permit_filed' } },
    in_book: true,
    dismissed: true,
  })
})

test('the bell has room for two digits', () => {
  expect([badge(1), badge(99), badge(100)]).toEqual(['1', '99', '99+'])
})
