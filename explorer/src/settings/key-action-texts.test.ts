import { describe, expect, it } from 'vitest'
import { actionText, isGone, outcomeText, reportText, undoText } from './key-action-texts'

describe('what a key did, in words', () => {
  it('describes actions', () => {
    expect(actionText({ kind: 'view', action: 'created' })).toBe('View created')
    expect(actionText({ kind: 'overlay', action: 'changed' })).toBe('Record in the book changed')
    expect(actionText({ kind: 'membership', action: 'removed' })).toBe('Record in a list removed')
  })
  it('describes whether they can be undone, and why not', () => {
    expect(undoText({ undo: 'possible' })).toBe('can be undone')
    expect(undoText({ undo: 'changed_since' })).toBe('stays: somebody else changed it later')
  })
  it('describes the expected and the actual outcome of an undo', () => {
    expect(outcomeText({ outcome: 'undone' }, true)).toBe('will be undone')
    expect(outcomeText({ outcome: 'undone' }, false)).toBe('undone')
    expect(outcomeText({ outcome: 'not_stored' }, false)).toBe('stays: what it was is stored nowhere')
    expect(outcomeText({ outcome: 'refused', reason: 'a workspace needs an owner' }, true)).toBe(
      'stays: a workspace needs an owner',
    )
  })
  it('counts them', () => {
    expect(reportText([{ outcome: 'undone' }, { outcome: 'undone' }], true)).toBe('2 will be undone.')
    expect(reportText([{ outcome: 'undone' }, { outcome: 'refused' }], false)).toBe('1 undone, 1 stays as it is.')
    expect(reportText([{ outcome: 'not_stored' }, { outcome: 'refused' }], false)).toBe('0 undone, 2 stay as they are.')
  })
  it('is deleted if it was removed, or if its creation was undone', () => {
    expect(isGone({ kind: 'view', action: 'created' }, false)).toBe(false)
    expect(isGone({ kind: 'view', action: 'created' }, true)).toBe(true)
    expect(isGone({ kind: 'board', action: 'removed' }, false)).toBe(true)
    expect(isGone({ kind: 'board', action: 'removed' }, true)).toBe(false)
    expect(isGone({ kind: 'view', action: 'changed' }, true)).toBe(false)
    // Its record, or its View, exists.
    expect(isGone({ kind: 'membership', action: 'removed' }, false)).toBe(false)
  })
})
