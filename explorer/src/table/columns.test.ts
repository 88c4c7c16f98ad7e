import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { rows } from '../api/rows'
import { datasets } from '../datasets'
import { defaults, formatColumns, moved, normal, parseColumns, storeColumns, storedColumns } from './choice'
import { fieldOf, fieldsOf, type TableName } from './fields'
import { fromPresentation, toPresentation, type Presentation } from './presentation'

describe('the columns of the address', () => {
  it.each(['name,cost:140,stage', 'name:300,id', 'name', 'name,last_signal_at,stage,cost'])(
    '%s is what it was',
    (text) => {
      expect(formatColumns(parseColumns('projects', text) ?? [])).toBe(text)
    },
  )

  it('has the name first, known fields only, and each once', () => {
    expect(parseColumns('projects', 'cost,<script>,name:200,cost:90,,colour')).toEqual([
      { key: 'name', width: 200 },
      { key: 'cost' },
    ])
    expect(parseColumns('signals', 'city')).toEqual([{ key: 'title' }, { key: 'city' }])
  })

  it('has widths that can be seen', () => {
    expect(parseColumns('projects', 'name:1,cost:99999,stage:-4,city:x')).toEqual([
      { key: 'name', width: 64 },
      { key: 'cost', width: 800 },
      { key: 'stage' },
      { key: 'city' },
    ])
  })

  it.each(datasets)('omits the default of %s', (dataset) => {
    expect(normal(dataset, defaults(dataset))).toBeUndefined()
    expect(parseColumns(dataset, '')).toBeUndefined()
    expect(parseColumns(dataset, 'colour')).toBeUndefined()
  })
})

it('moves a column, but not the name', () => {
  const columns = [{ key: 'name' }, { key: 'a' }, { key: 'b', width: 90 }, { key: 'c' }]
  const keys = (key: string, to: number) => moved(columns, key, to).map((c) => c.key)
  expect(keys('b', 1)).toEqual(['name', 'b', 'a', 'c'])
  expect(keys('a', 3)).toEqual(['name', 'b', 'c', 'a'])
  expect(keys('a', 99)).toEqual(['name', 'b', 'c', 'a'])
  expect(keys('c', 0)).toEqual(['name', 'c', 'a', 'b'])
  expect(keys('name', 2)).toEqual(['name', 'a', 'b', 'c'])
  expect(moved(columns, 'b', 1)[1]).toEqual({ key: 'b', width: 90 })
})

it('names every field, and sorts by what the service sorts by', () => {
  for (const dataset of datasets) {
    for (const field of fieldsOf(dataset)) expect(field.label).toMatch(/^[A-Z]/)
    expect(new Set(fieldsOf(dataset).map((f) => f.label)).size).toBe(fieldsOf(dataset).length)
  }
  expect(fieldOf('projects', 'sqft')?.sorts).toBe(true)
  expect(fieldOf('projects', 'city')?.sorts).toBe(false)
})

describe('stored columns', () => {
  const kept = new Map<string, string>()
  beforeEach(() => {
    kept.clear()
    vi.stubGlobal('localStorage', {
      getItem: (k: string) => kept.get(k) ?? null,
      setItem: (k: string, v: string) => kept.set(k, v),
      removeItem: (k: string) => kept.delete(k),
    })
  })
  afterEach(() => vi.unstubAllGlobals())

  it('is the names and widths of the columns of a dataset', () => {
    storeColumns('projects', [{ key: 'name' }, { key: 'cost', width: 140 }])
    expect([...kept]).toEqual([['columns.projects', 'name,cost:140']])
    expect(storedColumns('projects')).toEqual([{ key: 'name' }, { key: 'cost', width: 140 }])
    expect(storedColumns('accounts')).toBeUndefined()
    storeColumns('projects', undefined)
    expect(kept.size).toBe(0)
  })
})

describe('the presentation of a View', () => {
  it.each([
    {},
    { sort: { field: 'cost', order: 'desc' as const } },
    { columns: parseColumns('projects', 'name,cost:140,stage') ?? [] },
    { columns: parseColumns('projects', 'name:333') ?? [], sort: { field: 'name', order: 'asc' as const } },
    {
      columns: fieldsOf('projects')
        .map(({ key }) => ({ key, width: 100 }))
        .reverse()
        .sort((a, b) => Number(b.key === 'name') - Number(a.key === 'name')),
    },
  ])('%j is what it was', (look) => {
    const stored = toPresentation('projects', look)
    expect(Object.keys(stored.column_visibility).length).toBeLessThanOrEqual(100)
    // The service stores the entries in another order.
    const entries = Object.entries(stored.column_visibility).sort(([a], [b]) => a.localeCompare(b))
    expect(fromPresentation('projects', { ...stored, column_visibility: Object.fromEntries(entries) })).toEqual(look)
  })

  it('has entries of what differs from the default, and one of order and widths', () => {
    const stored = (text: string) =>
      toPresentation('projects', { columns: parseColumns('projects', text) ?? [] }).column_visibility
    const usual = formatColumns(defaults('projects'))
    expect(stored(usual.replace('cost', 'cost:140'))).toEqual({
      [`columns:${usual.replace('cost', 'cost:140')}`]: true,
    })
    // The default order and widths are not stored.
    expect(stored(`${usual.replace(',cost', '')},city`)).toEqual({ cost: false, city: true })
    const moved = stored('name,cost:140,stage,city')
    expect(moved).toMatchObject({ city: true, primary_use: false, 'columns:name,cost:140,stage,city': true })
    expect(moved).not.toHaveProperty('stage')
    expect(moved).not.toHaveProperty('cost')
  })

  it('stores and reads all columns at their widest, within the limits of a View', () => {
    for (const table of Object.keys(rows) as TableName[]) {
      const columns = fieldsOf(table).map(({ key }, i) => ({ key, width: 800 - i }))
      const { column_visibility } = toPresentation(table, { columns })
      expect(Object.keys(column_visibility).length).toBeLessThanOrEqual(100)
      for (const key of Object.keys(column_visibility)) expect(key.length).toBeLessThanOrEqual(2000)
    }
  })

  it('reads Views of older versions, with two entries a column', () => {
    const before: Presentation = {
      version: 1,
      sorting: [],
      column_visibility: {
        ...Object.fromEntries(defaults('projects').map(({ key }) => [key, false])),
        ...{ name: true, cost: true, city: true, '0:name': true, '1:city': true, '2:cost:140': true },
      },
    }
    const look = fromPresentation('projects', before)
    expect(look.columns).toEqual([{ key: 'name' }, { key: 'city' }, { key: 'cost', width: 140 }])
    expect(fromPresentation('projects', toPresentation('projects', look))).toEqual(look)
  })

  it('follows what another program hides and shows', () => {
    const stored = toPresentation('projects', { columns: parseColumns('projects', 'name,cost:140,stage') ?? [] })
    const changed = { ...stored.column_visibility, cost: false, city: true }
    const look = fromPresentation('projects', { ...stored, column_visibility: changed })
    expect(look.columns).toEqual([{ key: 'name' }, { key: 'stage' }, { key: 'city' }])
  })

  it('reads a presentation of another program', () => {
    const stored: Presentation = {
      version: 1,
      sorting: [{ id: 'colour', desc: true }],
      column_visibility: { notes: true, stage: false, city: true, '7:<b>': true },
    }
    const look = fromPresentation('projects', stored)
    expect(look.sort).toBeUndefined()
    expect(look.columns?.map((c) => c.key)).toEqual([
      ...['name', 'primary_use', 'cost', 'account_ids', 'residential_units', 'permitted_at', 'last_signal_at', 'city'],
    ])
    expect(fromPresentation('projects', { version: 1, sorting: [], column_visibility: {} })).toEqual({})
  })
})
