import { expect, test } from 'vitest'
import { addEntry, whatOf } from './session/ledger'
import { firstReturn, hoursOf, operationLabel, returnOf } from './usage'

const used = [
  { from: '2026-03-01T09:00:00.000Z', credits: 30 },
  { from: '2026-03-02T08:00:00.000Z', credits: 5 },
]

test('the last day touches 25 clock hours', () => {
  const hours = hoursOf(used, new Date('2026-03-02T09:20:00Z'))
  expect(hours).toHaveLength(25)
  expect(hours.map((h) => h.credits).reduce((a, b) => a + b)).toBe(35)
  expect(hours[0]).toEqual({ from: new Date('2026-03-01T09:00:00Z'), credits: 30 })
  expect(hours.at(-1)).toEqual({ from: new Date('2026-03-02T09:00:00Z'), credits: 0 })
})

test('credits return a day after their use, at the latest 25 hours after their hour began', () => {
  expect(returnOf(new Date('2026-03-01T09:00:00Z'))).toEqual(new Date('2026-03-02T10:00:00Z'))
  expect(firstReturn(used)).toEqual({ credits: 30, by: new Date('2026-03-02T10:00:00Z') })
  expect(firstReturn([])).toBeUndefined()
})

test.each([
  ['search_projects', 'Rows of projects'],
  ['search_accounts', 'Rows of firms'],
  ['get_contact', 'People opened'],
  ['get_projects_batch', 'Projects by ID'],
  ['search_workspace_accounts', 'Rows of the book: firms'],
  ['get_workspace_account', 'Records of the book: firms'],
  ['search_view_records', 'Rows of Views'],
  ['something_new', 'Something new'],
])('%s is called %s', (id, label) => expect(operationLabel(id)).toBe(label))

test('costs are one entry for each action', () => {
  let ledger = addEntry([], '/data/projects/search', 25, 1)
  ledger = addEntry(ledger, '/data/projects/search', 25, 2)
  ledger = addEntry(ledger, '/data/projects/{id}', 0, 3)
  ledger = addEntry(ledger, '/data/projects/{id}', 1, 4)
  expect(ledger).toEqual([
    { what: 'Project opened', credits: 1, at: 4 },
    { what: 'Rows of projects', credits: 50, at: 2 },
  ])
  expect(whatOf('/workspace/accounts/{id}')).toBe('What your workspace says of a firm')
  expect(whatOf('/workspace/views/{id}/records/search')).toBe('Rows of a View')
})
