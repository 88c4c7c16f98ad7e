import { expect, it } from 'vitest'
import { csv, csvHead } from './format'
import { idsOf, namesOf } from './names'

const record = JSON.stringify({ id: 'p', name: 'Garage', account_ids: ['a', 'b', 'c', 'd'], contact_ids: [] })
const columns = ['name', 'account_names', 'contact_names']

it('names the first three of what a column has ids of, without those that are gone', () => {
  const called = new Map([
    ['a', 'Ada; Sons'],
    ['b', null],
    ['c', '=Cole'],
    ['d', 'Dee'],
  ])
  expect(csv(record, columns, {}, called)).toBe('Garage,Ada\\; Sons;=Cole,\n')
  expect(csv(record, ['account_names'], {}, new Map([['a', '=1+1']]))).toBe("'=1+1\n")
  expect(csvHead(columns, { people: { heads: { account_names: 'Firms' }, values: {}, days: [] } })).toBe(
    'name,Firms,contact_names\n',
  )
})

it('knows columns of ids by their names', () => {
  expect(namesOf(['id', 'account_ids', 'contact_ids', 'view_ids'])).toEqual(['account_names', 'contact_names'])
  expect(idsOf('contact_names')).toEqual({ ids: 'contact_ids', dataset: 'contacts' })
  expect(idsOf('name')).toBeUndefined()
})
