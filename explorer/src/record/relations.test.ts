import { expect, it } from 'vitest'
import { offerOf } from './relations'

it('describes what one credit buys', () => {
  const of = (dataset: 'signals' | 'accounts' | 'contacts', count: number | undefined, loaded = false) => ({
    dataset,
    count,
    included: loaded ? [] : undefined,
  })
  expect(offerOf([of('signals', 1), of('accounts', 0), of('contacts', 25)])).toBe(
    'Show 1 signal and 25 people · 1 credit',
  )
  expect(offerOf([of('signals', 1400), of('accounts', 2), of('contacts', 3)])).toBe(
    'Show 25 of 1,400 signals, 2 firms, and 3 people · 1 credit',
  )
  expect(offerOf([of('signals', 26), of('accounts', 2, true), of('contacts', undefined)])).toBe(
    'Show 25 of 26 signals · 1 credit',
  )
})
