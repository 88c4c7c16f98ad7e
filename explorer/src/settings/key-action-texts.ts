import type { KeyAction, UndoneAction } from '../api/key-actions'
import { capital } from '../datasets'
import { formatNumber } from '../format'

const kinds: Record<KeyAction['kind'], string> = {
  overlay: 'record in the book',
  membership: 'record in a list',
  view: 'View',
  board: 'board',
  webhook: 'webhook',
  subscription: 'signal alert',
  invitation: 'invitation',
  member: 'member',
  skill: 'Skill',
  setting: 'setting',
}

const verbs: Record<KeyAction['action'], string> = { created: 'created', changed: 'changed', removed: 'removed' }

/** actionText describes an action of a key: "View created". */
export function actionText({ kind, action }: Pick<KeyAction, 'kind' | 'action'>): string {
  return `${capital(kinds[kind])} ${verbs[action]}`
}

const states: Record<KeyAction['undo'], string> = {
  possible: 'can be undone',
  nothing_left: 'is as it was before',
  changed_since: 'stays: somebody else changed it later',
  not_stored: 'stays: what it was is stored nowhere',
  not_offered: 'stays: Atlas does not delete what is of this kind',
}

/** undoText says whether an action can be undone, or why not. */
export const undoText = (a: Pick<KeyAction, 'undo'>) => states[a.undo]

/** isGone reports whether an object with a page of its own is deleted: removed, or created and undone. */
export function isGone({ kind, action }: Pick<KeyAction, 'kind' | 'action'>, undone: boolean): boolean {
  if (kind !== 'view' && kind !== 'board') return false
  return undone ? action === 'created' : action === 'removed'
}

/** outcomeText is the outcome of an action's undo, or the expected one. */
export function outcomeText({ outcome, reason }: Pick<UndoneAction, 'outcome' | 'reason'>, dryRun: boolean): string {
  switch (outcome) {
    case 'undone':
      return dryRun ? 'will be undone' : 'undone'
    case 'refused':
      return `stays: ${reason ?? 'a rule forbids it'}`
    default:
      return states[outcome]
  }
}

/** reportText counts outcomes: "2 will be undone, 1 stays as it is." */
export function reportText(all: Pick<UndoneAction, 'outcome'>[], dryRun: boolean): string {
  const undone = all.filter((a) => a.outcome === 'undone').length
  const left = all.length - undone
  const first = dryRun ? `${formatNumber(undone)} will be undone` : `${formatNumber(undone)} undone`
  if (left === 0) return `${first}.`
  return `${first}, ${formatNumber(left)} ${left === 1 ? 'stays as it is' : 'stay as they are'}.`
}
