import { useRef } from 'react'
import { books } from '../api/book'
import { viewDatasets, type ViewsFilter } from '../api/views'
import { capital, nouns } from '../datasets'
import { kinds, type SetViewsFilter } from './use-views-filter'

/** How long typing pauses before the list follows, in milliseconds. */
const debounce = 250

/** ViewsFilters filter the list of Views. */
export function ViewsFilters({ filter, setFilter }: { filter: ViewsFilter; setFilter: SetViewsFilter }) {
  const { query = '', dataset = '', view_type } = filter
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  return (
    <div className="views-filters">
      <input
        key={query === '' ? 'empty' : 'some'}
        type="text"
        className="filter-input"
        placeholder="Search by name"
        aria-label="Search Views by name"
        defaultValue={query}
        autoFocus={query !== ''}
        onChange={({ target: { value } }) => {
          clearTimeout(timer.current)
          timer.current = setTimeout(() => setFilter('q', value.trim()), debounce)
        }}
      />
      <div className="segments" role="radiogroup" aria-label="Kind">
        {kinds.map(([kind, label]) => (
          <label key={label}>
            <input type="radio" name="kind" checked={view_type === kind} onChange={() => setFilter('kind', kind)} />
            <span>{label}</span>
          </label>
        ))}
      </div>
      <select aria-label="Dataset" value={dataset} onChange={(e) => setFilter('dataset', e.target.value)}>
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
