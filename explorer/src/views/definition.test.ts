import { describe, expect, it } from 'vitest'
import type { View } from '../api/views'
import type { Condition, SearchState } from '../search/state'
import { mergeSearches, fromDefinition, toDefinition } from './definition'

const search = (conditions: Record<string, Condition>, rest: Partial<SearchState> = {}): SearchState => ({
  dataset: 'projects',
  query: '',
  conditions,
  ...rest,
})
const translate = (state: SearchState, book: 'projects' | 'accounts' | 'contacts' = 'projects') =>
  toDefinition(state, book)
const keys = (losses: { key?: string; what?: string }[]) => losses.map((l) => l.key ?? l.what)

const full: Record<string, Condition> = {
  stage: { kind: 'values', values: ['filed', 'permitted'] },
  cost: { kind: 'range', from: '1000000' },
  residential_units: { kind: 'range', from: '10', to: '20' },
  stories: { kind: 'known', known: true },
  detected_at: { kind: 'range', from: '2024-01-01', to: '2024-12-31' },
}

describe('the definition of a search', () => {
  it('has what the grammar can express', () => {
    const { definition, dropped, widened } = translate(search(full, { query: ' tower ' }))
    expect(definition).toEqual({
      version: 1,
      q: 'tower',
      fields: {
        stage: ['filed', 'permitted'],
        cost: { min: '1000000' },
        units: { min: '10', max: '20' },
        stories_known: ['known'],
        detected: { after: '2024-01-01', before: '2024-12-31' },
      },
    })
    expect([dropped, widened]).toEqual([[], []])
  })

  it('leaves out a text with operators, which Views do not have', () => {
    for (const query of ['garage -deck', '"hot tub"', 'hotel OR motel', 'garag*', 'warehouse -"head office"']) {
      const { definition, dropped } = translate(search({}, { query }))
      expect([definition.q, keys(dropped)]).toEqual(['', [`“${query}”`]])
    }
    for (const query of ['row-house', 'a - b', 'or', "o'neil"]) {
      expect(translate(search({}, { query })).definition.q).toBe(query)
    }
  })

  it('is converted back to the same search', () => {
    const { definition } = translate(search(full))
    expect(fromDefinition({ definition } as unknown as View, 'projects')).toEqual(search(full))
  })

  it('drops what the grammar cannot express, and reports it', () => {
    const { definition, dropped } = translate(
      search({
        name: { kind: 'values', values: ['x'] },
        disposition: { kind: 'values', values: ['active'] },
        permitted_at: { kind: 'range', from: '2024-01-01' },
        sqft: { kind: 'known', known: false },
        stage: { kind: 'values', values: ['filed'], unknown: true },
        cost: { kind: 'range', to: '-5' },
        city: { kind: 'values', values: ['Calgary', 'calgary '] },
      }),
    )
    expect(definition.fields).toEqual({ city: ['Calgary'] })
    expect(keys(dropped)).toEqual(['name', 'disposition', 'permitted_at', 'sqft', 'stage', 'cost'])
  })

  it('stores the days that relative dates are today, and reports it', () => {
    const { definition, dropped, widened } = translate(
      search({ detected_at: { kind: 'range', from: '2026-Q1', to: '2026-Q1' } }),
    )
    expect(definition.fields).toEqual({ detected: { after: '2026-01-01', before: '2026-03-31' } })
    expect([keys(dropped), keys(widened)]).toEqual([[], ['detected_at']])
  })

  it('drops relations, groups and places', () => {
    const stage: Condition = { kind: 'values', values: ['filed'] }
    const { definition, stored, dropped } = translate(
      search(
        {
          location: { kind: 'place', near: { latitude: 51, longitude: -114, radius_m: 1000 } },
          has_signal: { kind: 'related', conditions: { stage } },
          stage,
        },
        { any: [{ city: stage }, { stage }], none: [{ stage }] },
      ),
    )
    expect(definition.fields).toEqual({ stage: ['filed'] })
    expect(stored).toEqual(search({ stage }))
    expect(keys(dropped)).toEqual(['location', 'has_signal', 'Alternatives', 'What is excluded'])
  })

  it('widens to whole numbers and never narrows', () => {
    const { definition, widened } = translate(search({ cost: { kind: 'range', from: '0.5', to: '9999.99' } }))
    expect(definition.fields).toEqual({ cost: { min: '0', max: '10000' } })
    expect(keys(widened)).toEqual(['cost'])
  })

  it('takes one firm of people', () => {
    const firms = (...values: string[]) =>
      translate({ ...search({ account_id: { kind: 'values', values } }), dataset: 'contacts' }, 'contacts')
    expect(firms('a').definition.fields).toEqual({ account_id: ['a'] })
    expect(keys(firms('a', 'b').dropped)).toEqual(['account_id'])
  })

  it('looks into the book where only that has the field', () => {
    const tier: Condition = { kind: 'values', values: ['tier_1'] }
    const book = { dataset: 'accounts', source: { kind: 'book' } } as const
    const { definition, stored, dropped } = translate(search({ icp_tier: tier }, book), 'accounts')
    expect(definition.fields).toEqual({ icp_tier: ['tier_1'] })
    expect(stored.source).toEqual({ kind: 'book' })
    expect(dropped).toEqual([])
    expect(keys(translate(search({}, book), 'accounts').dropped)).toEqual(['Only records of your book'])
  })
})

describe('a search within a View', () => {
  it('is added to the View', () => {
    const view = search({
      stage: { kind: 'values', values: ['filed', 'permitted'] },
      cost: { kind: 'range', from: '900' },
    })
    const within = search(
      {
        stage: { kind: 'values', values: ['Permitted', 'completed'] },
        cost: { kind: 'range', from: '100', to: '2000' },
        city: { kind: 'values', values: ['Calgary'] },
      },
      { query: 'garage' },
    )
    const { state, dropped } = mergeSearches({ ...view, query: 'new' }, within)
    expect(state).toEqual(
      search(
        {
          stage: { kind: 'values', values: ['permitted'] },
          cost: { kind: 'range', from: '900', to: '2000' },
          city: { kind: 'values', values: ['Calgary'] },
        },
        { query: 'new garage' },
      ),
    )
    expect(dropped).toEqual([])
  })

  it('preserves its groups, so that they are reported', () => {
    const groups = { any: [{}], none: [{}] }
    expect(mergeSearches(search({}), search({}, groups)).state).toMatchObject(groups)
  })

  it('reports what cannot be added', () => {
    const view = search({ stage: { kind: 'values', values: ['filed'] } })
    const { state, dropped } = mergeSearches(view, search({ stage: { kind: 'values', values: ['completed'] } }))
    expect(state.conditions).toEqual(view.conditions)
    expect(keys(dropped)).toEqual(['stage'])
  })
})
