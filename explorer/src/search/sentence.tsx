import { Plus, X } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { addFilter } from '../builder/page'
import { capital, counted, nouns } from '../datasets'
import { placeName } from '../source'
import { clausesOf, type Clause } from './clauses'
import { useSearch } from './context'
import type { Page } from './scope'
import type { SearchState } from './state'

const Builder = lazy(() => import('../builder/builder').then((m) => ({ default: m.Builder })))

interface Props {
  count: number | undefined
  /** The search may find less. */
  atMost?: boolean | undefined
  /** The count is loading. */
  counting?: boolean
}

/** Sentence describes the search, with each condition as a chip that can be changed and removed. */
export function Sentence({ count, atMost, counting }: Props) {
  const search = useSearch()
  const { state, change } = search
  const [open, setOpen] = useState<{ page: Page; left: number; at: number }>()
  const opener = (page: Page) => (e: React.MouseEvent) =>
    setOpen({ page, left: e.currentTarget.getBoundingClientRect().left, at: e.timeStamp })
  // The chip with the focus is removed.
  const remove = (next: SearchState) => () => {
    change(next)
    document.getElementById(addFilter)?.focus()
  }
  const start = count === undefined ? capital(nouns[state.dataset].many) : counted(count, state.dataset)
  return (
    <div className="sentence">
      <h1 aria-live="polite">
        {[count !== undefined && atMost && 'Up to', start, placeName(state.source), counting && '· counting…']
          .filter(Boolean)
          .join(' ')}
      </h1>
      {state.query && (
        <>
          <span className="word">with</span>
          <Chip label={`“${state.query}”`} remove={remove({ ...state, query: '' })} />
        </>
      )}
      {clausesOf(search).map((c, i) => (
        <span className="clause" key={c.id}>
          <span className="word">{wordsBefore(c, i)}</span>
          <Chip {...c} edit={opener(c.page)} remove={remove(c.without)} />
        </span>
      ))}
      <button
        id={addFilter}
        className="add"
        aria-haspopup="dialog"
        aria-keyshortcuts="f"
        onClick={opener({ kind: 'pick', scope: {} })}
      >
        <Plus size={14} aria-hidden /> Filter <kbd aria-hidden="true">F</kbd>
      </button>
      {open && (
        <Suspense fallback={null}>
          <Builder key={open.at} start={open.page} left={open.left} count={count} close={() => setOpen(undefined)} />
        </Suspense>
      )}
    </div>
  )
}

const wordsBefore = ({ word }: Clause, i: number) =>
  word === 'or' ? 'or' : [i === 0 ? 'where' : 'and', word].filter(Boolean).join(' ')

interface ChipProps {
  field?: string
  label: string
  edit?: (e: React.MouseEvent) => void
  remove: () => void
}

function Chip({ field, label, edit, remove }: ChipProps) {
  const text = (
    <>
      {field && <b>{field} </b>}
      <bdi>{label}</bdi>
    </>
  )
  return (
    <span className="chip">
      {edit ? (
        <button className="what" aria-haspopup="dialog" data-verb="Change" onClick={edit}>
          {text}
        </button>
      ) : (
        <span className="what">{text}</span>
      )}
      <button aria-label={`Remove ${field ?? ''} ${label}`} onClick={remove}>
        <X size={12} aria-hidden />
      </button>
    </span>
  )
}
