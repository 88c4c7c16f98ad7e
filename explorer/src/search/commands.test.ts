import { expect, it } from 'vitest'
import { commandOf, curlOf } from './commands'
import { bodyOf, type KindOf, type SearchState } from './state'

const state: SearchState = {
  dataset: 'projects',
  query: "builder's $HOME",
  conditions: {
    stage: { kind: 'values', values: ['filed', 'under review'] },
    cost: { kind: 'range', from: '10000' },
    sqft: { kind: 'known', known: false },
  },
  sort: { field: 'cost', order: 'desc' },
}

it('is a command with shell quoting', () => {
  expect(
    commandOf(
      state,
      bodyOf(state, () => 'values'),
    ),
  ).toBe(
    `atlas search projects --query 'builder'\\''s $HOME' --filter stage=filed --filter 'stage=under review' ` +
      `--filter cost=10000.. --filter '{"sqft":{"known":false}}' --sort cost:desc --limit 25`,
  )
})

it('searches the book or a View, and a status as a whole', () => {
  const conditions = { workspace_status: { kind: 'values' as const, values: ['in talks'] } }
  const book: SearchState = { dataset: 'accounts', source: { kind: 'book' }, query: '', conditions }
  expect(
    commandOf(
      book,
      bodyOf(book, () => 'values'),
    ),
  ).toBe(`atlas search --book accounts --filter 'workspace_status==in talks' --limit 25`)
  const view: SearchState = { dataset: 'accounts', source: { kind: 'view', id: 'v1' }, query: '', conditions: {} }
  expect(
    commandOf(
      view,
      bodyOf(view, () => 'values'),
    ),
  ).toBe('atlas search --view v1 --limit 25')
  expect(
    curlOf(
      'http://x/api/v1',
      view,
      bodyOf(view, () => 'values'),
      'w',
    ),
  ).toBe(
    `curl -s 'http://x/api/v1/workspace/views/v1/records/search?workspace_id=w' \\\n` +
      `  -H "Authorization: Bearer $ATLAS_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"limit":25}'`,
  )
})

it('has groups for values or unknown', () => {
  const stage = { kind: 'values' as const, values: ['filed'], unknown: true }
  const mixed: SearchState = { dataset: 'projects', query: '', conditions: { stage } }
  expect(
    commandOf(
      mixed,
      bodyOf(mixed, () => 'values'),
    ),
  ).toBe(`atlas search projects --any '{"stage":{"value":["filed"]}}' --any '{"stage":{"known":false}}' --limit 25`)
})

it('has relations, groups and areas', () => {
  const complex: SearchState = {
    dataset: 'accounts',
    query: '',
    conditions: {
      name: { kind: 'values', values: ['Truman Homes'], exact: true },
      has_project: {
        kind: 'related',
        conditions: {
          stage: { kind: 'values', values: ['filed'] },
          location: { kind: 'place', near: { latitude: 51, longitude: -114, radius_m: 2000 } },
        },
      },
      has_contact: { kind: 'related', conditions: { email: { kind: 'known', known: true } } },
      without_signal: { kind: 'related', conditions: {} },
    },
    any: [{ city: { kind: 'values', values: ['calgary'] } }],
    none: [{ has_project: { kind: 'related', conditions: {} }, city: { kind: 'known', known: false } }],
  }
  const kindOf: KindOf = (_, key) => (key.startsWith('has') || key.startsWith('without') ? 'relation' : 'values')
  expect(commandOf(complex, bodyOf(complex, kindOf))).toBe(
    `atlas search accounts --filter 'name==Truman Homes' --filter has_project.stage=filed ` +
      `--filter has_project.location=51,-114,2km --filter '{"has_contact":{"email":{"known":true}}}' ` +
      `--filter without_signal --any '{"city":{"value":["calgary"]}}' ` +
      `--none '{"city":{"known":false},"has_project":{}}' --limit 25`,
  )
})

it('is a request with the body of the search', () => {
  expect(curlOf('http://127.0.0.1:1/api/v1', state, { query: "builder's" }, 'w')).toBe(
    `curl -s 'http://127.0.0.1:1/api/v1/data/projects/search?workspace_id=w' \\\n` +
      `  -H "Authorization: Bearer $ATLAS_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n` +
      `  -d '{"query":"builder'\\''s","sort":{"field":"cost","order":"desc"},"limit":25}'`,
  )
})
