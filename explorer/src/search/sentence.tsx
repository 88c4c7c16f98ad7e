import { X } from 'lucide-react'
import { capital, counted, labelOf, nouns } from '../datasets'
import { formatDay, formatNumber } from '../format'
import { placeName } from '../source'
import { useSearch, type Search } from './context'
import { withCondition, type Condition } from './state'

/** Sentence says what the search is, each condition as a chip that can be removed. */
export function Sentence({ count }: { count: number | undefined }) {
  const search = useSearch()
  const { state, change } = search
  const conditions = Object.entries(state.conditions)
  const start = count === undefined ? capital(nouns[state.dataset].many) : counted(count, state.dataset)
  return (
    <div className="sentence">
      <h1 aria-live="polite">{[start, placeName(state.source)].join(' ').trim()}</h1>
      {state.query && (
        <>
          <span className="word">with</span>
          <Chip label={`“${state.query}”`} remove={() => change({ ...state, query: '' })} />
        </>
      )}
      {conditions.map(([key, c], i) => (
        <span className="clause" key={key}>
          <span className="word">{i === 0 ? 'where' : 'and'}</span>
          <Chip
            field={labelOf(key)}
            label={phrase(search, key, c)}
            remove={() => change(withCondition(state, key, undefined))}
          />
        </span>
      ))}
    </div>
  )
}

/** phrase continues the name of a field: "is Filed or Approved". */
export function phrase({ kindOf, state, valueLabel }: Search, key: string, c: Condition): string {
  if (c.kind === 'known') return c.known ? 'is known' : 'is unknown'
  if (c.kind === 'values') {
    const list = new Intl.ListFormat('en', { type: 'disjunction' })
    const words = c.values.map((v) => valueLabel(key, v))
    return `is ${list.format(c.unknown ? [...words, 'unknown'] : words)}`
  }
  const isDate = kindOf(state.dataset, key) === 'date'
  const show = (text: string) => (isDate ? formatDay(text) : formatNumber(Number(text)))
  if (c.from !== undefined && c.to !== undefined) {
    return c.from === c.to ? `is ${show(c.from)}` : `is ${show(c.from)} to ${show(c.to)}`
  }
  if (c.from !== undefined) return isDate ? `is from ${show(c.from)} on` : `is at least ${show(c.from)}`
  return `is up to ${show(c.to ?? '')}`
}

function Chip({ field, label, remove }: { field?: string; label: string; remove: () => void }) {
  return (
    <span className="chip">
      <span>
        {field && <b>{field}</b>} {label}
      </span>
      <button aria-label={`Remove ${field ?? ''} ${label}`} onClick={remove}>
        <X size={12} aria-hidden />
      </button>
    </span>
  )
}
