import { expect, test } from 'vitest'
import { columnsOf } from '../table/fields'
import { recordsOf } from './page'

test('records are those of the page, which stand beside the dataset in a View', () => {
  const records = ['{"id":"1","cost":1.50}', '{"id":"2"}']
  expect(recordsOf(`[${records.join()}]`)).toEqual(records)
  expect(recordsOf(`{"dataset":"project", "records":[${records.join()}]}`)).toEqual(records)
  expect(recordsOf('{"dataset":"project","records":[]}')).toEqual([])
})

test('rows of the book and of Views have the columns of the workspace', () => {
  expect(columnsOf('projects')).not.toContain('workspace_status')
  for (const book of ['projects', 'accounts', 'contacts'] as const) {
    expect(columnsOf(`book ${book}`)).toEqual(expect.arrayContaining(['workspace_status', 'notes', 'tags']))
    expect(columnsOf(`view ${book}`)).toEqual(expect.arrayContaining(['workspace_status', 'tags', 'updated_at']))
  }
})
