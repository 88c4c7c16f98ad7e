import type { RecordChange, WorkspaceChange } from '../api/history'
import { labelOf, type Records } from '../datasets'

/** Entry is a line of the timeline of a record. */
export interface Entry {
  at: string
  /** Who, "" for the data. */
  who: string
  what: string
  /** The id of the signal of the entry. */
  signal?: string
}

interface Names {
  /** The names of users by id. */
  users: Map<string, string>
  /** The names of Views by id. */
  lists: Map<string, string>
}

type DataChange = Pick<RecordChange, 'op' | 'at' | 'changed'>

// Fields that change with every other field are not shown.
const hiddenFields = new Set(['id', 'created_at', 'updated_at'])
const computed = new Set(['atlas_score', 'atlas_trend'])

const list = (keys: string[]) => new Intl.ListFormat('en').format(keys.map(labelOf))

type Signal = Pick<Records['signals'], 'id' | 'title' | 'occurred_at'>

/** entriesOf puts signals and the changes of the data and of the workspace into one list, the latest first. */
export function entriesOf(signals: Signal[], data: DataChange[], own: WorkspaceChange[], names: Names): Entry[] {
  const entries = [...signals.map(ofSignal), ...data.map(ofData), ...own.flatMap((c) => ofWorkspace(c, names))]
  return entries.sort((a, b) => (a.at < b.at ? 1 : -1))
}

const ofSignal = ({ id, title, occurred_at: at }: Signal): Entry => ({ at, who: '', what: title, signal: id })

function ofData({ op, at, changed }: DataChange): Entry {
  const fields = changed.filter((key) => !hiddenFields.has(key))
  const what =
    op === 'merge'
      ? 'Became another record'
      : op !== 'upsert'
        ? 'Left the data'
        : changed.includes('id')
          ? 'New in the data'
          : fields.length > 0
            ? `${list(fields)} changed`
            : 'Looked at again'
  return { at, who: '', what }
}

function ofWorkspace(c: WorkspaceChange, { users, lists }: Names): Entry[] {
  const who = c.by.user_id ? (users.get(c.by.user_id) ?? 'A former member') : c.by.key_id ? 'An API key' : 'Atlas'
  const entry = (what: string) => [{ at: c.at, who, what }]
  switch (c.kind) {
    case 'overlay': {
      if (c.op === 'delete') return entry('removed it from the book')
      // Also for a new row: Atlas has not written it.
      const fields = who === 'Atlas' ? c.changed : c.changed.filter((key) => !computed.has(key))
      return entry(fields.length > 0 ? `changed ${list(fields)}` : 'added it to the book')
    }
    case 'membership': {
      const name = lists.get(c.view_id ?? '')
      const where = name ? `the list “${name}”` : 'a list'
      return entry(c.op === 'delete' ? `removed it from ${where}` : `added it to ${where}`)
    }
  }
  return []
}
