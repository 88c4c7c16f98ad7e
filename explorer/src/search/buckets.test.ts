import { expect, it } from 'vitest'
import { barsOf, rangeOf } from './buckets'

it('turns months into ranges of whole days', () => {
  const bars = barsOf('date', [
    { from: '2024-01-01T00:00:00.000Z', to: '2024-02-01T00:00:00.000Z', count: 3 },
    { from: '2024-02-01T00:00:00.000Z', to: '2024-03-01T00:00:00.000Z', count: 1 },
  ])
  expect(rangeOf(bars, 0, 1)).toEqual({ kind: 'range', from: '2024-01-01', to: '2024-02-29' })
})

it('turns years into bars with the name of the year', () => {
  const bars = barsOf('date', [{ from: '2023-01-01T00:00:00.000Z', to: '2024-01-01T00:00:00.000Z', count: 3 }])
  expect(bars).toEqual([{ from: '2023-01-01', to: '2023-12-31', count: 3, label: '2023' }])
})

it('preserves open ends of numbers', () => {
  const bars = barsOf('number', [
    { from: null, to: 9999.99, count: 5 },
    { from: 10000, to: 29999.99, count: 4 },
    { from: 30000, to: null, count: 2 },
  ])
  expect(bars.map((b) => b.label)).toEqual(['below 10K', '10K – 30K', '30K or more'])
  expect(rangeOf(bars, 0, 0)).toEqual({ kind: 'range', to: '9999.99' })
  expect(rangeOf(bars, 1, 2)).toEqual({ kind: 'range', from: '10000' })
  expect(rangeOf(bars, 0, 2)).toBeUndefined()
})

it('names counts by what they count', () => {
  const bars = barsOf('number', [
    { from: null, to: 0, count: 5 },
    { from: 1, to: 1, count: 4 },
    { from: 2, to: 4, count: 4 },
  ])
  expect(bars.map((b) => b.label)).toEqual(['0', '1', '2 – 4'])
})
