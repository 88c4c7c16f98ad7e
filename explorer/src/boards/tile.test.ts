import { describe, expect, it } from 'vitest'
import { dimensionOf, measureOf } from '../charts/dimensions'
import { requestOf } from '../charts/points'
import { axesOf, byOf, columnsOf, measureOf as pivotMeasureOf, rowsOf } from '../pivot/axes'
import type { KindOf } from '../search/conditions'
import { bodyOf, format, parse, type SearchState } from '../search/state'
import { tileOf, searchOf, type Drawn, type Tile } from './tile'

const kinds: Record<string, ReturnType<KindOf>> = {
  stage: 'values',
  city: 'values',
  primary_use: 'values',
  name: 'text',
  email: 'text',
  workspace_status: 'values',
  account_ids: 'id',
  cost: 'number',
  residential_units: 'number',
  permitted_at: 'date',
  filed_at: 'date',
  location: 'place',
  has_project: 'relation',
  has_signal: 'relation',
}
const kindOf: KindOf = (_, key) => kinds[key]
const view = '0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10'

function read(address: string): SearchState {
  const { pathname, search } = new URL(address, 'http://x')
  return parse(pathname, search, kindOf, 'accounts')
}

/** drawnOf is the request of a search's look. */
function drawnOf(state: SearchState): Drawn {
  const dimension = dimensionOf(state, state.by)
  const all = axesOf(state, kindOf)
  const rows = rowsOf(all, state)
  const columns = columnsOf(all, state)
  const measure = pivotMeasureOf(state)
  switch (state.look) {
    case 'chart':
      return { kind: 'chart', facet: requestOf(dimension, measureOf(state.dataset, state.of), undefined) }
    case 'pivot':
      return {
        kind: 'pivot',
        rows: byOf(rows, 'rows'),
        ...(columns ? { columns: byOf(columns, 'columns') } : {}),
        ...(measure ? { measure } : {}),
      }
    case 'map':
      return { kind: 'map', precision: 9 }
    default:
      return { kind: 'view' }
  }
}

function made(address: string): Tile {
  const state = read(address)
  const tile = tileOf('A title', state.dataset, bodyOf(state, kindOf), drawnOf(state))
  if ('problem' in tile) throw new Error(tile.problem)
  // As the store returns it.
  return JSON.parse(JSON.stringify(tile)) as Tile
}

describe('a tile', () => {
  it.each([
    '/projects?look=chart&by=stage',
    '/projects?look=chart&by=permitted_at:month&of=avg:cost',
    '/projects?look=chart&by=residential_units',
    '/projects?q=garage&stage=filed&stage=permitted&cost=10000..&permitted_at=2015-01-01..2019-12-31&look=chart&by=city',
    '/projects?permitted_at=now-90d..&look=chart&by=permitted_at:week',
    '/projects?stage=filed&stage=permitted&any=cost=1000..;city=calgary&any=unknown=cost&none=city=airdrie&look=chart&by=stage',
    '/accounts?has_project.stage=permitted&has_project.cost=1000000..&look=chart&by=city',
    '/accounts?has_signal&look=chart&by=city',
    '/projects?location=51.0447,-114.0719,2.5km&look=map',
    '/projects?location=50.84..51.21,-114.3..-113.9&known=cost&look=map',
    '/projects?location=51,-114.1+51,-114+51.1,-114&look=map',
    '/projects?name==Main+street&name==Other&look=map',
    '/projects?account_ids=0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10&cost=7&look=map',
    '/projects?look=pivot&by=stage&across=permitted_at:year&of=median:cost',
    '/book/projects?workspace_status=called&look=pivot&by=city',
    `/views/${view}?city=calgary&look=chart&by=account_type`,
    `/views/${view}`,
  ])('of %s leads to it', (address) => {
    const found = searchOf(made(address), kindOf)
    expect(found).not.toHaveProperty('problem')
    expect(found).not.toHaveProperty('other')
    expect('state' in found && format(found.state)).toBe(address)
  })

  it.each(['a&b=c', '100% #1', '"; <script>alert(1)</script>', 'x;y;;z', '=x', ' =x', '\u202eevil', '../../x', '😀'])(
    'preserves the text %s',
    (text) => {
      const state: SearchState = {
        dataset: 'projects',
        query: text,
        conditions: { name: { kind: 'values', values: [text, 'other'] } },
        any: [{ name: { kind: 'values', values: [text], exact: true } }],
        look: 'map',
      }
      const tile = tileOf(text, 'projects', bodyOf(state, kindOf), { kind: 'map', precision: 3 }) as Tile
      expect(tile.title).toBe(text)
      expect(searchOf(tile, kindOf)).toEqual({ state })
    },
  )

  it('of values and unknown together finds the same, as alternatives', () => {
    const address = '/projects?stage=filed&unknown=stage&look=map'
    const found = searchOf(made(address), kindOf)
    const body = 'state' in found && bodyOf(found.state, kindOf)
    expect(body).toEqual(bodyOf(read(address), kindOf))
  })

  const api = (request: Record<string, unknown>, rest: Partial<Tile> = {}): Tile => ({
    kind: 'chart',
    title: 'T',
    dataset: 'projects',
    of: 'data',
    request: { facets: [{ field: 'stage', limit: 20 }], ...request },
    ...rest,
  })
  const addressOf = (tile: Tile) => {
    const found = searchOf(tile, kindOf)
    return 'state' in found ? [format(found.state), found.other] : [found.problem]
  }

  it('of the API is parsed in all its forms', () => {
    expect(addressOf(api({ filters: { city: { value: 'calgary', exact_match: false } }, words: 'forms' }))).toEqual([
      '/projects?city=calgary&look=chart&by=stage',
      undefined,
    ])
    expect(addressOf(api({ filters: {}, relations: {}, any: [], none: [], typos: 'off' }))).toEqual([
      '/projects?look=chart&by=stage',
      undefined,
    ])
  })

  it('with another picture links to the same records, and reports it', () => {
    expect(addressOf(api({ facets: [{ field: 'stage' }] }))).toEqual([
      '/projects?look=chart&by=stage',
      'The chart behind the link has other bars.',
    ])
    expect(addressOf(api({ facets: [{ field: 'name' }] }))).toEqual([
      '/projects',
      'The link lists its records: searches here have no such chart.',
    ])
    expect(addressOf(api({ rows: { field: 'stage' }, facets: undefined }, { kind: 'pivot' }))).toEqual([
      '/projects?look=pivot&by=stage',
      'The pivot behind the link has other rows or columns.',
    ])
    expect(addressOf(api({ rows: { field: 'name', limit: 20 }, facets: undefined }, { kind: 'pivot' }))[0]).toBe(
      '/projects',
    )
  })

  it.each([
    [{ query: 'garage', words: 'exact' }, /exactly as typed/],
    [{ query: 'garage', typos: 'auto' }, /misspelt/],
    [{ filters: { colour: { value: 'red' } } }, /cannot say/],
    [{ filters: { name: { value: ['x'.repeat(501)] } } }, /cannot say/],
    [{ filters: { stage: { value: Array.from({ length: 101 }, (_, i) => `v${i}`) } } }, /cannot say/],
    [{ filters: { permitted_at: { value: ['2015-02-31', null] } } }, /cannot say/],
    [{ filters: { workspace_status: { value: ['called'] } } }, /cannot say/],
    [{ relations: { has_project: { location: { value: {} } } } }, /cannot say/],
    // An unpaired surrogate.
    [{ query: '\ud83d' }, /cannot say/],
    [{ filters: { name: { value: ['\udc00 x'] } } }, /cannot say/],
    [{ any: Array.from({ length: 11 }, (_, i) => ({ filters: { cost: { value: [i, null] } } })) }, /cannot say/],
  ])('that no address can express is reported: %o', (request, why) => {
    expect(addressOf(api(request))[0]).toMatch(why)
  })

  it('has no condition on e-mail addresses, and a title that the service takes', () => {
    const state = read('/contacts?email=a@example.com')
    expect(tileOf('T', 'contacts', bodyOf(state, kindOf), { kind: 'view' })).toHaveProperty('problem')
    const long = tileOf('😀'.repeat(101), 'projects', {}, { kind: 'map', precision: 0 })
    expect('title' in long && [...long.title]).toHaveLength(100)
  })
})
