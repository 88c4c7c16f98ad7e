import { expect, it } from 'vitest'
import { format } from '../search/state'
import { similarTo } from './similar-to'

it('finds firms of the same kinds, city and main use', () => {
  const state = similarTo({ account_types: ['developer', 'owner'], city: 'Calgary' }, 'multifamily')
  expect(state && format(state)).toBe(
    '/accounts?account_type=developer&account_type=owner&city=Calgary&has_project.primary_use=multifamily',
  )
  const some = similarTo({ account_types: [], city: 'St. John’s & <b>' }, 'retail')
  expect(some && format(some)).toBe('/accounts?city=St.+John%E2%80%99s+%26+%3Cb%3E&has_project.primary_use=retail')
})

it('omits the main use “other”', () => {
  const state = similarTo({ account_types: ['developer'], city: 'Calgary' }, 'other')
  expect(state && format(state)).toBe('/accounts?account_type=developer&city=Calgary')
})

it('is undefined where too little is known', () => {
  expect(similarTo({ account_types: ['developer'], city: null }, undefined)).toBeUndefined()
  expect(similarTo({ account_types: [], city: null }, 'retail')).toBeUndefined()
})
