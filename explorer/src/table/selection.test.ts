import { expect, it } from 'vitest'
import { countOf, everything, isPicked, nothing, pick } from './selection'

it('selects rows one by one', () => {
  const two = pick(nothing, ['a', 'b'], true)
  expect(['a', 'b', 'c'].map((id) => isPicked(two, id))).toEqual([true, true, false])
  expect(countOf(two, 100)).toBe(2)
  const one = pick(two, ['a', 'c'], false)
  expect([...one.ids]).toEqual(['b'])
  expect(countOf(nothing, 100)).toBe(0)
})

it('selects all that match, loaded or not, but some', () => {
  const but = pick(everything, ['a', 'b'], false)
  expect(isPicked(but, 'a')).toBe(false)
  expect(isPicked(but, 'unseen')).toBe(true)
  expect(countOf(but, 100)).toBe(98)
  const reselected = pick(but, ['a'], true)
  expect(isPicked(reselected, 'a')).toBe(true)
  expect(countOf(reselected, 100)).toBe(99)
})
