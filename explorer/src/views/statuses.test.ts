import { expect, it } from 'vitest'
import { revertOf, changeOf, type Setting } from './statuses'

const setting: Setting = { next: { workspace_status: 'to call' }, tags: ['north', 'kept'] }
const before = { workspace_status: 'open', tags: ['kept'], notes: 'mine', icp_tier: null }

it('sets values, and adds the tags that are missing', () => {
  expect(changeOf(setting, before)).toEqual({ workspace_status: 'to call', tags: ['kept', 'north'] })
  expect(changeOf({ next: { icp_tier: null }, tags: ['kept'] }, before)).toEqual({ icp_tier: null })
})

it('sets values and tags of a record that is not in the book', () => {
  expect(changeOf(setting, null)).toEqual({ workspace_status: 'to call', tags: ['north', 'kept'] })
})

it('reverts what it has set, or removes the record from the book', () => {
  expect(revertOf(changeOf(setting, before), before)).toEqual({ workspace_status: 'open', tags: ['kept'] })
  expect(revertOf({ icp_tier: 'tier_1' }, { workspace_status: null, tags: [], notes: null })).toEqual({
    icp_tier: null,
  })
  expect(revertOf(changeOf(setting, null), null)).toBeNull()
})
