import { describe, expect, it } from 'vitest'
import { fuzzy } from './fuzzy'

const names = ['Firms', 'Settings Members', 'Theme Dark', 'Stage Under construction', 'Views', 'Sign out', 'Exports']
const best = (query: string, from = names) =>
  from
    .map((name) => ({ name, score: fuzzy(query, name) }))
    .filter((n) => n.score !== undefined)
    .sort((a, b) => (b.score ?? 0) - (a.score ?? 0))
    .map((n) => n.name)

describe('fuzzy', () => {
  it.each([
    ['dark', 'Theme Dark'],
    ['FIRM', 'Firms'],
    ['mem', 'Settings Members'],
    ['undcon', 'Stage Under construction'],
    ['con und', 'Stage Under construction'],
    ['so', 'Sign out'],
    ['sgn', 'Sign out'],
    ['exprts', 'Exports'],
  ])('finds %s', (query, name) => {
    expect(best(query)[0]).toBe(name)
  })

  it('finds beginnings of words before letters within them', () => {
    expect(best('map', ['Ramap', 'Look Map'])).toEqual(['Look Map', 'Ramap'])
  })

  it('does not find what has other letters, or the letters by chance', () => {
    expect(best('zebra')).toEqual([])
    expect(best('darkness')).toEqual([])
    expect(fuzzy('tea', 'Multifamily with a permit in Calgary')).toBeUndefined()
  })

  it('ignores accents', () => {
    expect(best('montreal', ['Montréal, towers'])).toEqual(['Montréal, towers'])
    expect(best('é', ['Edmonton'])).toEqual(['Edmonton'])
  })

  it('matches everything without a query', () => {
    expect(best('  ')).toHaveLength(names.length)
  })

  it('takes no time for long texts', () => {
    const before = performance.now()
    fuzzy('aaaaaaaaaaaaaaaaaaaab', 'a'.repeat(500))
    expect(performance.now() - before).toBeLessThan(200)
  })
})
