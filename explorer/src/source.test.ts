import { expect, it } from 'vitest'
import { pathOf, railOf, routeOf, scopeOf } from './source'

const view = '0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10'
it.each([
  ['/projects', undefined, '/data/projects'],
  ['/signals/abc', undefined, '/data/signals'],
  ['/book/accounts', undefined, '/workspace/accounts'],
  ['/book/contacts/abc', undefined, '/workspace/contacts'],
  [`/views/${view}`, 'accounts', `/workspace/views/${view}/records`],
  [`/views/${view}/abc`, 'projects', `/workspace/views/${view}/records`],
] as const)('%s is searched where it says', (path, ofView, route) => {
  const scope = scopeOf(path, ofView)
  expect(pathOf(scope)).toBe(path)
  expect(routeOf(scope.dataset, scope.source)).toBe(route)
})

it('has projects where the address says nothing', () => {
  expect(scopeOf('/')).toEqual({ dataset: 'projects' })
  expect(scopeOf('/book')).toEqual({ dataset: 'projects', source: { kind: 'book' } })
  expect(scopeOf('/book/signals').dataset).toBe('projects')
})

it('asks for no more facets than a request takes', () => {
  for (const dataset of ['projects', 'accounts', 'contacts'] as const) {
    const fields = railOf({ dataset, source: { kind: 'book' } })
    expect(fields.length).toBeLessThanOrEqual(12)
    expect(fields.slice(0, 2).map((f) => f.key)).toEqual(['workspace_status', 'tags'])
  }
})
