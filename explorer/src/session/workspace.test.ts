import { readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { choose, rememberWorkspace, shortOf } from './workspace'

const membership = (id: string) => ({ id, name: id, role: 'member' })
const a = membership('01a20645-197d-77cc-a13f-e673ed7c77ea')
const b = membership('01a20645-197d-77cc-a13f-00000000abcd')
const twin = membership('01a20645-0000-77cc-a13f-11110000abcd')

describe('the workspace of an address', () => {
  test.each([
    ['named', `?q=x&workspace=ed7c77ea`, null, a],
    ['named in full', `?workspace=${b.id}`, a.id, b],
    ['another', '?workspace=ffffffff', a.id, undefined],
    ['an end of several', '?workspace=a', a.id, undefined],
    ['empty', '?workspace=', a.id, undefined],
    ['not named', '?q=x', null, a],
    ['the last one', '', b.id, b],
    ['the last one is no more', '', twin.id, a],
  ])('%s', (_, search, last, want) => {
    expect(choose([a, b], search, last)).toBe(want)
  })

  test('of nobody', () => {
    expect(choose([], '', a.id)).toBeUndefined()
  })

  test('stays that of the page when another tab opens another', () => {
    const stored = new Map<string, string>()
    vi.stubGlobal('localStorage', {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    })
    expect(choose([a, b], '')).toBe(a)
    rememberWorkspace(b.id)
    for (const key of stored.keys()) stored.set(key, a.id)
    expect(choose([a, b], '')).toBe(b)
    vi.unstubAllGlobals()
    const script = readFileSync('../service/manual/assets/try.js', 'utf8')
    expect(script, 'the reference reads the same').toContain(`localStorage.getItem('${[...stored.keys()].join()}')`)
  })

  test('is short where that is clear', () => {
    expect(shortOf(a.id, [a, b])).toBe('ed7c77ea')
    expect(shortOf(b.id, [a, b, twin])).toBe(b.id)
  })
})
