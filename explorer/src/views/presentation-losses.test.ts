import { expect, test } from 'vitest'
import { rows, sorts } from '../api/rows'
import type { SearchState } from '../search/state'
import { presentationLosses } from './presentation-losses'

const search: SearchState = { dataset: 'projects', query: '', conditions: {} }

test('an order and columns that Views do not have are named', () => {
  const unsorted = sorts.projects.find((key) => !sorts['view projects'].includes(key)) ?? ''
  const absent = Object.keys(rows.projects).find((key) => !(key in rows['view projects']))
  const columns = [{ key: 'name' }, ...(absent ? [{ key: absent }] : [])]
  const lost = presentationLosses({ ...search, sort: { field: unsorted, order: 'desc' }, columns }, 'projects')
  expect(lost).toHaveLength(absent ? 2 : 1)
  expect(lost[0]?.what).toMatch(/^The order by [A-Z]/)
})

test('nothing is lost of what Views have', () => {
  const columns = [{ key: 'name' }, { key: 'stage' }]
  expect(presentationLosses({ ...search, columns, sort: { field: 'name', order: 'asc' } }, 'projects')).toEqual([])
})
