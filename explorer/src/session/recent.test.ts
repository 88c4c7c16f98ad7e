import { beforeEach, expect, it, vi } from 'vitest'
import { signOutListeners } from '../api/session'
import { recentSearches, rememberSearch } from './recent'

const stored = new Map<string, string>()
beforeEach(() => {
  stored.clear()
  vi.stubGlobal('sessionStorage', {
    getItem: (k: string) => stored.get(k) ?? null,
    setItem: (k: string, v: string) => stored.set(k, v),
    removeItem: (k: string) => stored.delete(k),
  })
})
const me = { user: 'u', workspace: 'w' }

it('stores the latest searches once each, the last first', () => {
  for (const n of [1, 2, 3, 1]) rememberSearch(me, `/projects?q=${n}`)
  expect(recentSearches(me)).toEqual(['/projects?q=1', '/projects?q=3', '/projects?q=2'])
  for (let n = 0; n < 30; n++) rememberSearch(me, `/accounts?q=${n}`)
  expect(recentSearches(me)).toHaveLength(12)
})

it('are of one user in one workspace', () => {
  rememberSearch(me, '/projects?q=1')
  for (const other of [
    { user: 'v', workspace: 'w' },
    { user: 'u', workspace: 'x' },
  ]) {
    expect(recentSearches(other)).toEqual([])
  }
  rememberSearch({ user: 'v', workspace: 'w' }, '/projects?q=2')
  expect(recentSearches(me)).toEqual([])
  expect([...stored.values()].join()).not.toContain('q=1')
})

it('are deleted at sign-out, and when they are malformed', () => {
  rememberSearch(me, '/projects?q=1')
  signOutListeners.forEach((hear) => hear())
  expect(recentSearches(me)).toEqual([])
  for (const broken of ['{', '3', '{"user":"u","workspace":"w","addresses":7}']) {
    stored.set('atlas-recent', broken)
    expect(recentSearches(me)).toEqual([])
  }
})
