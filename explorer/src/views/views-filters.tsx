import { useRef } from 'react'
import { books } from '../api/book'
import { viewDatasets, type ViewsFilter } from '../api/views'
import { capital, nouns } from '../datasets'
import { kinds, type Narrow } from './use-narrowing'

/** How long typing pauses before the list follows, in milliseconds. */
const pause = 250

/** ViewsFilters narrow the list of Views. */
export function ViewsFilters({ narrowing, narrow }: { narrowing: ViewsFilter; narrow: Narrow }) {
  const { query = '', dataset = '', view_type } = narrowing
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  return (
    <div className="views-filters">
      <input
        key={query === '' ? 'empty' : 'some'}
        type="text"
        className="within"
        placeholder="Search by name"
        aria-label="Search Views by name"
        defaultValue={query}
        autoFocus={query !== ''}
        onChange={({ target: { value } }) => {
          clearTimeout(timer.current)
          timer.current = setTimeout(() => narrow('q', value.trim()), pause)
        }}
      />
      <div className="segments" role="radiogroup" aria-label="Kind">
        {kinds.map(([kind, label]) => (
          <label key={label}>
            <input type="radio" name="kind" checked={view_type === kind} onChange={() => narrow('kind', kind)} />
            <span>{label}</span>
          </label>
        ))}
      </div>
      <select aria-label="Dataset" value={dataset} onChange={(e) => narrow('dataset', e.target.value)}>
        <option value="">All datasets</option>
        {books.map((b) => (
          <option key={b} value={viewDatasets[b]}>
            {capital(nouns[b].many)}
          </option>
        ))}
      </select>
    </div>
  )
}
