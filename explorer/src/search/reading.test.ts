import { describe, expect, it } from 'vitest'
import type { Reading } from '../api/queries'
import { withReading } from './reading'
import { format, parse, type KindOf } from './state'

const kindOf: KindOf = (_, key) =>
  /^has_/.test(key) ? 'relation' : key === 'cost' ? 'number' : key.endsWith('_at') ? 'date' : 'values'

const reading = (parts: Partial<Reading>): Reading => ({
  filters: {},
  relations: {},
  sentence: 'x',
  conditions: [],
  count: 1,
  ...parts,
})

function taken(address: string, parts: Partial<Reading>): string {
  const { pathname, search } = new URL(address, 'http://x')
  return format(withReading(parse(pathname, search, kindOf), reading(parts), kindOf))
}

describe('an accepted reading', () => {
  it('leaves the rest as text, and preserves the conditions of the search', () => {
    const filters = { stage: { value: ['filed', 'approved'] }, cost: { value: [1000000, null] } }
    expect(
      taken('/projects?q=filed+or+approved+tower+over+1m&city=Calgary&stage=permitted', { query: 'tower', filters }),
    ).toBe('/projects?q=tower&city=Calgary&stage=filed&stage=approved&cost=1000000..')
  })
  it('has days and ends', () => {
    expect(taken('/projects?q=x', { filters: { filed_at: { value: ['2026-01-01', '2026-03-31'] } } })).toBe(
      '/projects?filed_at=2026-01-01..2026-03-31',
    )
    expect(taken('/projects?q=x', { filters: { cost: { value: [null, 5] } } })).toBe('/projects?cost=..5')
  })
  it('adds to what one related record must meet', () => {
    const relations = { has_project: { city: { value: ['Austin'] }, cost: { value: [5, 5] } } }
    expect(taken('/accounts?q=x&has_project.stage=filed&has_project.city=Calgary', { relations })).toBe(
      '/accounts?has_project.stage=filed&has_project.city=Austin&has_project.cost=5',
    )
  })
})
