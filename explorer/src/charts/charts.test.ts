import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dimensionOf, divide, measureOf, titleOf } from './dimensions'
import { pointsOf, requestOf, rows, timeLabel } from './points'

describe('a chart', () => {
  it('counts the book by annotations', () => {
    const book = { dataset: 'accounts', source: { kind: 'book' } } as const
    expect(dimensionOf(book, 'icp_tier').key).toBe('icp_tier')
    expect(titleOf('accounts', dimensionOf(book, 'workspace_status'), undefined)).toBe('Firms by our status')
    expect(dimensionOf({ dataset: 'accounts' }, 'icp_tier').key).toBe('account_type')
  })

  it('has a title for what it shows', () => {
    const title = (by?: string, of?: string) =>
      titleOf('projects', dimensionOf({ dataset: 'projects' }, by), measureOf('projects', of))
    expect(title('permitted_at:month', 'sum:cost')).toBe('Total cost of projects by month of permit')
    expect(title('stage')).toBe('Projects by stage')
    expect(title('account_ids', 'avg:sqft')).toBe('Average floor area (sq ft) of projects by firm')
    // An invalid address shows the usual chart.
    expect(title('nothing:day', 'sum:nothing')).toBe('Projects by stage')
    expect(title()).toBe('Projects by month of permit')
  })

  it('requests one facet', () => {
    const cost = { field: 'cost', of: 'sum' } as const
    expect(requestOf(dimensionOf({ dataset: 'projects' }, 'permitted_at:week'), cost, undefined)).toEqual({
      field: 'permitted_at',
      interval: 'week',
      exclude_own: false,
      measure: cost,
    })
    expect(requestOf(dimensionOf({ dataset: 'projects' }, 'stage'), undefined, undefined)).toEqual({
      field: 'stage',
      limit: 20,
    })
    expect(requestOf(dimensionOf({ dataset: 'projects' }, 'residential_units'), undefined, [2, 4])).toEqual({
      field: 'residential_units',
      ranges: [
        [2, 2],
        [3, 3],
        [4, 4],
      ],
      exclude_own: false,
    })
  })

  it('divides a range at round numbers, and leaves nothing out', () => {
    expect(divide(10_000, 29_999.99, 0.01)).toEqual([
      ...[10_000, 12_000, 14_000, 16_000, 18_000, 20_000, 22_000, 24_000, 26_000].map((n) => [n, n + 1999.99]),
      [28_000, 29_999.99],
    ])
    expect(divide(5, 5, 1)).toEqual([[5, 5]])
    expect(divide(20, 49, 1).at(-1)).toEqual([45, 49])
    for (const [from, to] of [
      [0, 1],
      [3, 1_000_000],
      [0.5, 121_114_845.97],
    ] as const) {
      const ranges = divide(from, to, 0.01)
      expect(ranges.length).toBeLessThanOrEqual(14)
      expect([ranges[0]?.[0], ranges.at(-1)?.[1]]).toEqual([from, to])
      ranges.forEach(([start], i) => i > 0 && expect(start - (ranges[i - 1]?.[1] ?? 0)).toBeCloseTo(0.01, 6))
    }
  })

  it('has a condition for each bar', () => {
    const month = dimensionOf({ dataset: 'projects' }, 'permitted_at:month')
    const buckets = [{ from: '2020-02-01T00:00:00.000Z', to: '2020-03-01T00:00:00.000Z', count: 3, measure: null }]
    const facet = { field: 'permitted_at', unknown: 0, buckets }
    const [point] = pointsOf(month, { field: 'cost', of: 'avg' }, facet, undefined, (_, v) => v)
    expect(point).toMatchObject({
      label: 'Feb 2020',
      count: 3,
      value: null,
      condition: { kind: 'range', from: '2020-02-01', to: '2020-02-29' },
    })
    const values = [
      { value: 'a', label: 'A', count: 2 },
      { value: 'b', label: null, count: 1 },
    ]
    const chosen = { kind: 'values', values: ['B'] } as const
    const points = pointsOf(
      dimensionOf({ dataset: 'projects' }, 'city'),
      undefined,
      { field: 'city', unknown: 0, values },
      { ...chosen, values: [...chosen.values] },
      (_, v) => v.toUpperCase(),
    )
    expect(points.map((p) => [p.label, p.value, p.out])).toEqual([
      ['A', 2, true],
      ['B', 1, false],
    ])
  })

  it.each([
    ['year', '2021'],
    ['quarter', 'Q3 2021'],
    ['month', 'Jul 2021'],
    ['week', 'Week of Jul 5, 2021'],
    ['day', 'Jul 5, 2021'],
  ] as const)('names a %s', (interval, label) => {
    expect(timeLabel(interval, '2021-07-05T00:00:00.000Z')).toBe(label)
  })
})

describe('the CSV', () => {
  it('has what is drawn', () => {
    const condition = { kind: 'range', from: '0', to: '9999.99' } as const
    const table = rows('Cost', 'Total cost', [{ label: 'below 10K', count: 2, value: 1500.5, condition }])
    expect(table).toEqual([
      ['Cost', 'From', 'To', 'Count', 'Total cost'],
      ['below 10K', 0, 9999.99, 2, 1500.5],
    ])
  })
})

it('the policy of the page has the hash of the style that Plot makes', () => {
  const { className } = /export const (?:className) = '(?<className>\w+)'/.exec(
    readFileSync('src/charts/plot-chart.tsx', 'utf8'),
  )?.groups as { className: string }
  const source = readFileSync('node_modules/@observablehq/plot/src/plot.js', 'utf8')
  const style = /append\("style"\)\.text\(\s*`([^`]*)`/.exec(source)?.[1]?.replaceAll('${className}', className)
  const hash = createHash('sha256')
    .update(style ?? '')
    .digest('base64')
  expect(readFileSync('explorer.go', 'utf8')).toContain(`'sha256-${hash}'`)
})
