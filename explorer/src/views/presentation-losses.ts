import type { Book } from '../api/book'
import { rows, sorts } from '../api/rows'
import type { SearchState } from '../search/state'
import { defaults } from '../table/choice'
import { fieldOf, tableOf } from '../table/fields'
import type { Loss } from './definition'

const and = new Intl.ListFormat('en', { type: 'conjunction' })

/** presentationLosses lists the differences in how a View looks: an order, and visible columns. */
export function presentationLosses(state: SearchState, book: Book): Loss[] {
  const table = tableOf(state)
  const view = `view ${book}` as const
  const label = (key: string) => fieldOf(table, key)?.label ?? key
  const lost: Loss[] = []
  if (state.sort && !sorts[view].includes(state.sort.field)) {
    lost.push({ what: `The order by ${label(state.sort.field)}`, reason: 'Views are not sorted by it' })
  }
  const columns = (state.columns ?? defaults(table)).map((c) => c.key).filter((key) => !(key in rows[view]))
  if (columns.length > 0) {
    const what = `The ${columns.length === 1 ? 'column' : 'columns'} ${and.format(columns.map(label))}`
    lost.push({ what, reason: 'Rows of Views do not have them' })
  }
  return lost
}
