import { MutationObserver, QueryClient } from '@tanstack/react-query'
import { expect, it, vi } from 'vitest'
import { api } from './client'
import { undoKey } from './key-actions'

const book = ['rows', 'w', 'contacts', { source: { kind: 'book' } }]
const list = (id: string) => ['rows', 'w', 'contacts', { source: { kind: 'view', id } }]
const note = ['book', 'w', 'contacts', 'c1']
const data = ['rows', 'w', 'contacts', {}]
const elsewhere = ['rows', 'x', 'contacts', { source: { kind: 'book' } }]
const firms = ['rows', 'w', 'accounts', { source: { kind: 'book' } }]

/** leftAfter has what is left of all rows after an undo with these outcomes. */
async function leftAfter(actions: object[] | undefined, dryRun = false) {
  const client = new QueryClient()
  const all = { book, note, list1: list('1'), list2: list('2'), data, elsewhere, firms }
  for (const key of Object.values(all)) client.setQueryData(key, 'loaded')
  const post = vi.spyOn(api, 'POST')
  if (actions) post.mockResolvedValue({ data: { data: { actions }, metadata: {} }, response: new Response() } as never)
  else post.mockRejectedValue(new Error('away'))
  await new MutationObserver(client, undoKey('w', 'k')).mutate({ dryRun }).catch(() => undefined)
  post.mockRestore()
  return Object.entries(all).flatMap(([name, key]) => (client.getQueryData(key) ? [name] : []))
}

it('drops the rows of the book and of lists that an undo changed', async () => {
  const overlay = { kind: 'overlay', dataset: 'contacts', outcome: 'undone' }
  const member = { kind: 'membership', dataset: 'contacts', view_id: '1', outcome: 'undone' }
  expect(await leftAfter([overlay])).toEqual(['data', 'elsewhere', 'firms'])
  expect(await leftAfter([member])).toEqual(['book', 'note', 'list2', 'data', 'elsewhere', 'firms'])
  expect(await leftAfter([{ ...overlay, outcome: 'not_stored' }])).toHaveLength(7)
  expect(await leftAfter([overlay], true)).toHaveLength(7)
  expect(await leftAfter(undefined)).toEqual(['data', 'elsewhere'])
})
