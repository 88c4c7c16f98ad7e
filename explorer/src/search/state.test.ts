import { describe, expect, it } from 'vitest'
import { bodyOf, format, parse, withCondition, type KindOf } from './state'

const kinds: Record<string, ReturnType<KindOf>> = {
  stage: 'values',
  name: 'values',
  cost: 'number',
  filed_at: 'date',
  location: 'place',
}
const kindOf: KindOf = (dataset, key) => (dataset === 'projects' ? kinds[key] : undefined)
const read = (address: string) => {
  const { pathname, search } = new URL(address, 'http://x')
  return parse(pathname, search, kindOf)
}

describe('the address', () => {
  it.each([
    '/projects',
    '/projects/e310c895-5773-59a8-aeab-676f3b7d2e2b',
    '/accounts?q=builders',
    '/book/projects/e310c895-5773-59a8-aeab-676f3b7d2e2b?stage=filed',
    '/projects?stage=filed&view=0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10',
    '/projects?q=garage&stage=filed&stage=permitted&cost=10000..&filed_at=2015-01-01..2019-12-31&sort=cost:desc',
    '/projects?cost=..5&unknown=filed_at',
    '/projects?stage=filed&location=51.0447,-114.0719,2.5km&look=map&at=51.04,-114.07,11',
    '/projects?location=50.84..51.21,-114.3..-113.9&unknown=filed_at',
    '/projects?look=chart&by=filed_at:month&of=sum:cost',
    '/projects?look=pivot&by=stage&across=filed_at:year&of=median:cost',
    '/projects?cost=7&known=filed_at',
    '/projects?stage=filed&stage=permitted&unknown=stage&cost=7',
    '/projects?stage=filed&sort=cost:desc&cols=name,cost:140,stage',
  ])('%s is what it was', (address) => {
    expect(format(read(address))).toBe(address)
  })

  it.each(['a&b=c', '100% #1', 'Straße ß 日本 😀', 'x,y:z', '"; <script>', 'a  b'])(
    'preserves the text %s',
    (query) => {
      const state = { ...read('/projects'), query }
      expect(read(format(state))).toEqual(state)
      const named = withCondition(state, 'name', { kind: 'values', values: [query, 'other'] })
      expect(read(format(named))).toEqual(named)
    },
  )

  it('ignores what it does not know', () => {
    expect(read('/nothing?colour=red&cost=..&unknown=colour')).toEqual({
      dataset: 'projects',
      query: '',
      conditions: {},
    })
    expect(read('/accounts?stage=filed').conditions).toEqual({})
  })
})

describe('the request', () => {
  it('has query and filters of the API', () => {
    const state = read('/projects?q=garage&stage=filed&cost=10000..&filed_at=..2019-12-31&unknown=name')
    expect(bodyOf(state, kindOf)).toEqual({
      query: 'garage',
      filters: {
        stage: { value: ['filed'] },
        cost: { value: [10000, null] },
        filed_at: { value: [null, '2019-12-31'] },
        name: { known: false },
      },
    })
    expect(bodyOf(read('/projects?look=chart&by=stage'), kindOf)).toEqual({})
    expect(bodyOf(read('/projects?location=51,-114,2km'), kindOf)).toEqual({
      filters: { location: { value: { near: { latitude: 51, longitude: -114, radius_m: 2000 } } } },
    })
  })

  it('has groups for values or unknown', () => {
    const filed = { value: ['filed'] }
    const none = { known: false }
    expect(bodyOf(read('/projects?unknown=stage&stage=filed&cost=..7'), kindOf)).toEqual({
      filters: { cost: { value: [null, 7] } },
      any: [{ filters: { stage: filed } }, { filters: { stage: none } }],
    })
    const both = bodyOf(read('/projects?stage=filed&unknown=stage&name=a&unknown=name'), kindOf)
    expect(both.any).toHaveLength(4)
    expect(both.any?.[1]).toEqual({ filters: { stage: filed, name: none } })
  })

  it('has at most as many groups as a request takes', () => {
    const all: KindOf = () => 'values'
    const { pathname, search } = new URL(
      '/projects?a=1&unknown=a&b=1&unknown=b&c=1&unknown=c&d=1&unknown=d',
      'http://x',
    )
    const state = parse(pathname, search, all)
    expect(state.conditions.d).toEqual({ kind: 'known', known: false })
    expect(bodyOf(state, all).any).toHaveLength(8)
  })

  it('still has unknown when the last value is removed', () => {
    const state = withCondition(read('/projects'), 'stage', { kind: 'values', values: [], unknown: true })
    expect(state.conditions).toEqual({ stage: { kind: 'known', known: false } })
  })

  it('drops a condition without values', () => {
    const state = withCondition(read('/projects?stage=filed'), 'stage', { kind: 'values', values: [] })
    expect(state.conditions).toEqual({})
  })
})
