import { expect, it } from 'vitest'
import { cellOf, row } from './csv'

it('writes a row that a spreadsheet reads as it is', () => {
  const values = ['=1+1', ' @a', '-5', 'a "b", c', -5, null, undefined, ['a;b', 'c\\'], ['@x'], true, '\u0085a']
  expect(row(values.map(cellOf))).toBe(`'=1+1,' @a,'-5,"a ""b"", c",-5,,,a\\;b;c\\\\,'@x,true,"\u0085a"\n`)
  expect(row([''])).toBe('""\n')
})
