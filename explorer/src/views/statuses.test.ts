import { expect, it } from 'vitest'
import { backOf, changeOf, type Setting } from './statuses'

const setting: Setting = { next: { workspace_status: 'to call' }, tags: ['north', 'kept'] }
const had = { workspace_status: 'open', tags: ['kept'], notes: 'mine', icp_tier: null }

it('sets values, and adds the tags that are missing', () => {
  expect(changeOf(setting, had)).toEqual({ workspace_status: 'to call', tags: ['kept', 'north'] })
  expect(changeOf({ next: { icp_tier: null }, tags: ['kept'] }, had)).toEqual({ icp_tier: null })
})

it('sets values and tags of a record that is not in the book', () => {
  expect(changeOf(setting, null)).toEqual({ workspace_status: 'to call', tags: ['north', 'kept'] })
})

it('takes back what it has set, or takes the record out of the book again', () => {
  expect(backOf(changeOf(setting, had), had)).toEqual({ workspace_status: 'open', tags: ['kept'] })
  expect(backOf({ icp_tier: 'tier_1' }, { workspace_status: null, tags: [], notes: null })).toEqual({ icp_tier: null })
  expect(backOf(changeOf(setting, null), null)).toBeNull()
})
