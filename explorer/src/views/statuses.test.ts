import { expect, it } from 'vitest'
import { backOf, changeOf, type Setting } from './statuses'

const setting: Setting = { next: { workspace_status: 'to call' }, tags: ['north', 'kept'] }
const had = { workspace_status: 'open', tags: ['kept'], notes: 'mine', icp_tier: null }

it('sets values, and adds the tags that are missing', () => {
  expect(changeOf(setting, had)).toEqual({ workspace_status: 'to call', tags: ['kept', 'north'] })
  expect(changeOf({ next: { icp_tier: null }, tags: ['kept'] }, had)).toEqual({ icp_tier: null })
})

it('takes back what it has set, and nothing that others have changed since', () => {
  const now = { ...had, ...changeOf(setting, had) }
  expect(backOf(setting, had, now)).toEqual({ workspace_status: 'open', tags: ['kept'] })
  expect(backOf(setting, had, { ...now, workspace_status: 'won', tags: ['north', 'theirs'] })).toEqual({
    tags: ['theirs'],
  })
})
