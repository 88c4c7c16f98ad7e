import { ArrowDown, ArrowUp } from 'lucide-react'
import { useSearch } from '../search/context'
import { fieldOf, fieldsOf, tableOf } from './fields'
import { sortedBy, sortOn, defaultSort } from './sort'

/**
 * SortMenu sorts by anything that the service sorts by, whether or not it is a column. Rows of
 * the previous search do not have its order yet.
 */
export function SortMenu({ applied }: { applied: boolean }) {
  const { state, change } = useSearch()
  const { dataset, sort } = state
  const byDefault = defaultSort(state)
  const down = sort?.order === 'desc'
  const Arrow = down ? ArrowDown : ArrowUp
  return (
    <span className="sort">
      <label>
        <span className="wide">{applied ? 'Sorted by' : 'Sort by'} </span>
        <select
          className="plain-select"
          aria-label={applied ? 'Sorted by' : 'Sort by'}
          value={sort?.field ?? ''}
          onChange={(e) => {
            const { sort: _, ...unsorted } = state
            change(e.target.value ? sortOn(unsorted, e.target.value) : unsorted)
          }}
        >
          <option value="">{byDefault ? `${fieldOf(dataset, byDefault.field)?.label} (usual)` : 'Best match'}</option>
          {fieldsOf(tableOf(state)).flatMap((f) =>
            f.sorts ? (
              <option key={f.key} value={f.key}>
                {f.label}
              </option>
            ) : (
              []
            ),
          )}
        </select>
      </label>
      {sort && (
        <button
          className="icon-button"
          aria-label={down ? 'Highest first; sort lowest first' : 'Lowest first; sort highest first'}
          onClick={() => change(sortedBy(state, sort.field))}
        >
          <Arrow size={14} aria-hidden />
        </button>
      )}
    </span>
  )
}
