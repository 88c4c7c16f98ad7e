import { expect, test } from 'vitest'
import { flatRow, joinedColumns, joinedOf, joinFields } from './join'
import { headOf } from './people'

test('a row of a join is flat, as one of the command line', () => {
  const row =
    '{"account":{"id":"1","name":"A, \\"b\\""},"project":{"id":"2","cost":1.50},"contact":{"id":"3","account_id":null}}'
  expect(flatRow(row)).toBe(
    '{"id":"1","name":"A, \\"b\\"","project_id":"2","project_cost":1.50,"contact_id":"3","contact_account_id":null}',
  )
  expect(flatRow('{"account":{"id":"1"},"project":null,"contact":null}')).toBe('{"id":"1"}')
})

test('each record is requested with the members that the columns need', () => {
  expect(joinFields(['id', 'projects_count', 'project_id', 'project_cost', 'contact_account_name'])).toEqual({
    fields: ['id', 'projects_count'],
    project_fields: ['id', 'cost'],
    contact_fields: ['id', 'account_name'],
  })
  // A column of the firm itself is not one of its person.
  expect(joinedOf('contacts_count')).toBeUndefined()
  expect(joinedOf('contact_account_id')).toEqual({ part: 'contact', table: 'contacts', key: 'account_id' })
  expect(new Set(joinedColumns).size).toBe(joinedColumns.length)
})

test('headings of joined columns name their record', () => {
  const heads = ['name', 'project_name', 'project_cost', 'contact_name', 'contact_role'].map((c) =>
    headOf('accounts', c),
  )
  expect(heads).toEqual(['Firm', 'Project', 'Project: Cost', 'Person', 'Person: Role'])
})
