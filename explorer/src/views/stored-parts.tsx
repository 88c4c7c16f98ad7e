import './dialogs.css'
import { useQuery } from '@tanstack/react-query'
import type { Book } from '../api/book'
import { facetsQuery } from '../api/queries'
import { counted, labelOf } from '../datasets'
import { useSearch } from '../search/context'
import { clause, phrase } from '../search/phrases'
import { bodyOf, type SearchState } from '../search/state'
import type { Loss } from './definition'

interface Props {
  book: Book
  stored: SearchState
  dropped: Loss[]
  widened: Loss[]
  /** Differences in how the View looks. */
  look: Loss[]
}

/** StoredParts shows which parts of a search a View stores, which it cannot, and the effect on the count. */
export function StoredParts({ book, stored, dropped, widened, look }: Props) {
  const search = useSearch()
  const { state } = search
  const conditions = Object.entries(stored.conditions)
  const nothing = conditions.length === 0 && !stored.query
  return (
    <>
      <section className="stored-parts">
        <h3>The View keeps</h3>
        {nothing && <p>{dropped.length > 0 ? 'None of the conditions.' : 'No condition: it has everything.'}</p>}
        <ul>
          {stored.query && <li>The text “{stored.query}”</li>}
          {conditions.map(([key, c]) => {
            const loss = widened.find((w) => w.key === key)
            return (
              <li key={key}>
                <b>{labelOf(key)}</b> {phrase(search, key, c)}
                {loss && <span className="quiet"> – {loss.reason}</span>}
              </li>
            )
          })}
        </ul>
      </section>
      {dropped.length + look.length > 0 && (
        <section className="stored-parts losses">
          <h3>It cannot keep</h3>
          <ul>
            {[...dropped, ...look].map(({ key = '', what, reason }) => {
              const c = state.conditions[key]
              const related = c?.kind === 'related'
              return (
                <li key={key + what}>
                  <b>{what ?? (related ? clause(search, key, c) : labelOf(key))}</b>{' '}
                  {c && !related && phrase(search, key, c)}
                  <span className="quiet"> – {reason}</span>
                </li>
              )
            })}
          </ul>
        </section>
      )}
      {/* A View has only people that are visible to the workspace; counting them is not counting all. */}
      {!nothing && dropped.length + widened.length > 0 && book !== 'contacts' && (
        <Difference stored={stored} book={book} />
      )}
    </>
  )
}

function Difference({ stored, book }: { stored: SearchState; book: Book }) {
  const { workspace, body, kindOf } = useSearch()
  const now = useQuery(facetsQuery(workspace.id, book, body, []))
  const then = useQuery(facetsQuery(workspace.id, book, bodyOf(stored, kindOf), []))
  const ready = now.data && then.data && !now.isPlaceholderData && !then.isPlaceholderData
  return (
    <p aria-live="polite">
      {ready ? (
        <>
          The search finds {counted(now.data.count, book)}, the View <b>{counted(then.data.count, book)}</b>.
        </>
      ) : (
        'Counting…'
      )}
    </p>
  )
}
