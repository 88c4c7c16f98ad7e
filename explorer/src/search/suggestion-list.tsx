import { pageSize } from '../api/queries'
import { counted, labelOf, type Dataset } from '../datasets'
import { credits, formatNumber } from '../format'
import { keyOf, type Group, type Suggestion } from './suggestions'

interface Props {
  id: string
  dataset: Dataset
  groups: Group[]
  active: string | undefined
  choose: (s: Suggestion) => void
  setActive: (key: string) => void
}

/** optionID is the id of an option's element. */
export const optionID = (list: string, key: string) => `${list}-${key}`

/** SuggestionList is the listbox of the search box. The focus stays in the box. */
export function SuggestionList({ id, dataset, groups, active, choose, setActive }: Props) {
  return (
    // The focus stays in the box.
    <div className="suggestions" onMouseDown={(e) => e.preventDefault()}>
      <div id={id} role="listbox" aria-label="Suggestions">
        {groups.map(({ heading, price, suggestions }, i) => (
          <div key={heading} role="group" aria-labelledby={`${id}-group-${i}`}>
            <div id={`${id}-group-${i}`} className="heading" role="presentation">
              {heading} <span>{price}</span>
            </div>
            {suggestions.map((s) => {
              const key = keyOf(s)
              return (
                <div
                  key={key}
                  id={optionID(id, key)}
                  role="option"
                  aria-selected={key === active}
                  onMouseMove={() => setActive(key)}
                  onClick={() => choose(s)}
                >
                  {s.id === undefined && <span className="word">{labelOf(s.field)} is</span>}
                  <bdi className="name">{s.value}</bdi>
                  <span className="count">{countOf(s, dataset)}</span>
                </div>
              )
            })}
          </div>
        ))}
      </div>
      <p>
        <kbd>↑</kbd> <kbd>↓</kbd> choose · <kbd>Enter</kbd> without a choice searches: up to {credits(pageSize)}
      </p>
    </div>
  )
}

/** countOf labels the count of a suggestion. */
function countOf(s: Suggestion, dataset: Dataset): string {
  if (s.id === undefined) return formatNumber(s.count)
  return counted(s.count, dataset === 'accounts' ? 'projects' : 'signals')
}
