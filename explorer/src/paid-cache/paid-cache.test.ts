import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { outdatedQuery } from '../api/outdated'
import { DerivedPage, Page, Rows } from '../api/pages'
import type { AnyRecord } from '../datasets'
import { invalidateRecords } from './changes'
import { entryOf, evict, receive, trim, type Loaded } from './entries'
import { share, type Owner } from './share'

const record = (id: string) => ({ id, name: `Project ${id}` }) as AnyRecord
const page = (...ids: string[]) => new Page(ids.map(record), undefined, [], { at: 5, release: 'r 1' })
const loaded = (...ids: string[]): Loaded => ({ pages: [page(...ids)], pageParams: [undefined] })
const key = (name: string, workspace = 'w') => ['rows', workspace, 'projects', { query: name }, undefined]

let client: QueryClient
beforeEach(() => {
  client = new QueryClient({ defaultOptions: { queries: { gcTime: Infinity } } })
})
const put = (name: string, at: number, ...ids: string[]) =>
  client.setQueryData(key(name), loaded(...ids), { updatedAt: at })
const has = (name: string) => client.getQueryData<Loaded>(key(name)) !== undefined
const watch = (name: string) =>
  new QueryObserver(client, { queryKey: key(name), enabled: false }).subscribe(() => undefined)

describe('paid data', () => {
  it('is cached up to a number of rows, and the oldest without observers is evicted first', () => {
    put('first', 1, 'a', 'b')
    put('second', 2, 'c')
    put('third', 3, 'd', 'e')
    const stop = watch('first')
    trim(client, 4)
    expect(['first', 'second', 'third'].map(has)).toEqual([true, false, true])
    trim(client, 1)
    expect(['first', 'second', 'third'].map(has)).toEqual([true, false, false])
    stop()
  })

  it('is evicted except what is visible', () => {
    put('here', 1, 'a')
    put('there', 1, 'b')
    client.setQueryData(['facets', 'w'], 1)
    const stop = watch('here')
    evict(client)
    expect([has('here'), has('there'), client.getQueryData(['facets', 'w'])]).toEqual([true, false, 1])
    stop()
  })

  it('is evicted when it has changed, and marked where it is visible', () => {
    put('here', 1, 'a', 'b')
    put('there', 1, 'b')
    put('other', 1, 'c')
    const stop = watch('here')
    invalidateRecords(client, 'w', 'projects', new Set(['b', 'x']))
    expect(['here', 'there', 'other'].map(has)).toEqual([true, false, true])
    expect([...(client.getQueryData(outdatedQuery('w', 'projects').queryKey) ?? [])]).toEqual(['b'])
    stop()
  })
})

describe('a message', () => {
  it('has a page as it was, packed, with its time and release', () => {
    put('x', 7, 'a', 'b')
    const query = client.getQueryCache().find({ queryKey: key('x'), exact: true })
    const entry = structuredClone(query && entryOf(query))
    const other = new QueryClient()
    expect(entry && receive(other, entry)).toBe(true)
    const got = other.getQueryData<Loaded>(key('x'))?.pages[0]
    expect(got).toBeInstanceOf(Page)
    expect([got?.ids, got?.rows, got?.read]).toEqual([
      ['a', 'b'],
      [record('a'), record('b')],
      { at: 5, release: 'r 1' },
    ])
    expect(other.getQueryState(key('x'))?.dataUpdatedAt).toBe(7)
    expect(other.getQueryCache().find({ queryKey: key('x'), exact: true })?.gcTime).toBe(Infinity)
    // Equally new data stays.
    expect(entry && receive(other, entry)).toBe(false)
  })

  it('is not sent for derived rows', () => {
    const rows = new Rows([page('a', 'b')])
    client.setQueryData(key('x'), { pages: [new DerivedPage(rows, [1])], pageParams: [undefined] })
    const query = client.getQueryCache().find({ queryKey: key('x'), exact: true })
    expect(query && entryOf(query)).toBeUndefined()
  })
})

describe('tabs', () => {
  const open: { stop: () => void }[] = []
  const ports: { onmessage: ((e: MessageEvent) => void) | null }[] = []
  afterEach(() => {
    open.splice(0).forEach(({ stop }) => stop())
    ports.splice(0)
  })
  /** tab is a page of a user in a workspace. */
  const tab = (owner: Owner) => {
    const client = new QueryClient()
    const port = {
      onmessage: null as ((e: MessageEvent) => void) | null,
      postMessage: vi.fn((message: unknown) => {
        const data: unknown = structuredClone(message)
        ports.forEach((p) => p !== port && p.onmessage?.({ data } as MessageEvent))
      }),
    }
    ports.push(port)
    const shared = share({ client, port, owner: () => owner })
    open.push(shared)
    return { client, shared, port }
  }

  it('of one user and workspace share paid data, also with one that opens later', () => {
    const [one, two, stranger, elsewhere] = [tab('u w'), tab('u w'), tab('v w'), tab('u x')]
    one.client.setQueryData(key('x'), loaded('a'))
    const ids = (c: QueryClient) => c.getQueryData<Loaded>(key('x'))?.pages[0]?.ids
    expect([two, stranger, elsewhere].map((t) => ids(t.client))).toEqual([['a'], undefined, undefined])
    // Received data is not sent on.
    expect(two.port.postMessage).not.toHaveBeenCalled()
    const late = tab('u w')
    late.shared.requestEntries('u w')
    expect(ids(late.client)).toEqual(['a'])
  })

  it('evict it when the session ends', () => {
    const [one, two, stranger] = [tab('u w'), tab('u w'), tab('v w')]
    one.client.setQueryData(key('x'), loaded('a'))
    stranger.client.setQueryData(key('x'), loaded('b'))
    one.shared.announceSessionEnd('u')
    expect([two, stranger].map((t) => t.client.getQueryData(key('x')) !== undefined)).toEqual([false, true])
  })
})
