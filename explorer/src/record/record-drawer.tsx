import './record.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ChevronDown, ChevronUp, Link2, X } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { books } from '../api/book'
import { RequestError } from '../api/client'
import { Rows } from '../api/pages'
import { findLoaded, findRow, recordQuery, rowsQuery } from '../api/queries'
import { nouns, type Records } from '../datasets'
import { credits, formatNumber } from '../format'
import { nameOf } from '../search/columns'
import { useSearch } from '../search/context'
import { Notice } from '../ui/notice'
import { copy } from '../ui/copy'
import { isTyping } from '../ui/is-typing'
import { Annotations } from './annotations'
import { copyValueForKey } from './copy-values'
import { Fields } from './fields'
import { ListButtons } from './list-buttons'
import { Related } from './related'
import { Similar } from './similar'

const InLists = lazy(() => import('../views/in-lists'))
const Timeline = lazy(() => import('./timeline'))

/** RecordDrawer shows the record of the address beside the table. */
export function RecordDrawer({ id }: { id: string }) {
  const { workspace, state, change } = useSearch()
  const { dataset } = state
  const loaded = findLoaded(useQueryClient(), workspace.id, dataset, id)
  const query = useQuery({ ...recordQuery(workspace.id, dataset, id), enabled: false })
  const record = loaded ?? query.data
  const book = books.find((b) => b === dataset)
  // The annotations in a row of the book or of a View, at no extra cost.
  const row = findRow(useQueryClient(), workspace.id, dataset, id, (source) => source !== undefined)
  const shown = record ?? row
  const drawer = useRef<HTMLElement>(null)
  const [origin] = useState(() => document.activeElement)
  const close = () => {
    const next = { ...state }
    delete next.record
    change(next)
    // The row, or the control that opened the drawer; neither exists for a record opened by a
    // link in the drawer.
    const back = document.querySelector('[role=row][tabindex="0"]') ?? (origin?.isConnected ? origin : null)
    const found = back && back !== document.body ? back : document.querySelector('.looks [aria-current]')
    if (found instanceof HTMLElement) found.focus()
  }
  useEffect(() => {
    // A link in the drawer of another record is removed with it.
    if (document.activeElement === document.body) drawer.current?.focus()
  }, [id])
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      if (e.defaultPrevented || document.querySelector('dialog[open]')) return
      if (e.key === 'Escape') close()
      if (isTyping(e) || e.metaKey || e.ctrlKey || e.altKey) return
      const what = shown && copyValueForKey(shown, e.key)
      if (what) void copy(what.name, what.text)
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  })
  return (
    <aside className="drawer" ref={drawer} tabIndex={-1} aria-label={shown ? nameOf(shown) : 'Record'}>
      <header>
        <span className="kind">{nouns[dataset].one}</span>
        <Step id={id} />
        {book && <ListButtons key={id} book={book} id={id} />}
        <CopyLink />
        <button className="icon-button" aria-label="Close the record" onClick={close}>
          <X size={16} aria-hidden />
        </button>
      </header>
      {shown ? (
        <div className="drawer-body" key={id}>
          <h2>{nameOf(shown)}</h2>
          {book && <Annotations book={book} id={id} name={nameOf(shown)} />}
          {book && (
            <Suspense>
              <InLists dataset={book} id={id} />
            </Suspense>
          )}
          <Fields dataset={dataset} record={shown} />
          {record && dataset === 'accounts' && <Similar firm={record as Records['accounts']} />}
          {record ? (
            <Related dataset={dataset} record={record} />
          ) : (
            <button className="button" disabled={query.isFetching} onClick={() => void query.refetch()}>
              Show all that is known · {credits(1)}
            </button>
          )}
          {!record && query.error && <Notice error={query.error} retry={() => void query.refetch()} price={1} />}
          <TimelineOf id={id} />
        </div>
      ) : isNotFound(query.error) ? (
        <RecordNotFound close={close} />
      ) : query.error ? (
        <Notice error={query.error} retry={() => void query.refetch()} price={1} />
      ) : (
        <div className="notice">
          <h2>This record is not loaded yet</h2>
          <button className="button primary" disabled={query.isFetching} onClick={() => void query.refetch()}>
            Show it · {credits(1)}
          </button>
        </div>
      )}
    </aside>
  )
}

/** TimelineOf reads the timeline when it is first opened. */
function TimelineOf({ id }: { id: string }) {
  const { dataset } = useSearch().state
  const [open, setOpen] = useState(false)
  return (
    <details className="record-timeline" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Timeline</summary>
      {open && (
        <Suspense>
          <Timeline dataset={dataset} id={id} />
        </Suspense>
      )}
    </details>
  )
}

const isNotFound = (error: Error | null) => error instanceof RequestError && error.status === 404

/** RecordNotFound says that a link points to no record, or to a deleted one. */
function RecordNotFound({ close }: { close: () => void }) {
  const { state } = useSearch()
  const noun = nouns[state.dataset].one
  return (
    <div className="notice" role="alert">
      <h2>This {noun} is gone</h2>
      <p>It has left the dataset, or there never was one with this address. Looking has cost nothing.</p>
      <p>What your workspace has written about it is kept, and is there again if it returns.</p>
      <button className="button" onClick={close}>
        Back to the search
      </button>
    </div>
  )
}

/** Step goes to the loaded row before or after, like k and j in the table. */
function Step({ id }: { id: string }) {
  const { workspace, state, body, change } = useSearch()
  const client = useQueryClient()
  const pages = client.getQueryData(rowsQuery(workspace.id, state.dataset, body, state.sort).queryKey)?.pages ?? []
  const rows = new Rows(pages)
  const at = rows.indexOf(id)
  // A record that is not in the table has no neighbours.
  if (at < 0) return null
  const to = (by: number) => {
    const record = rows.id(at + by)
    if (record) change({ ...state, record }, { replace: true })
  }
  return (
    <>
      <span className="quiet place">
        {formatNumber(at + 1)} of {formatNumber(rows.length)}
      </span>
      <button className="icon-button" aria-label="Previous row" aria-disabled={at === 0} onClick={() => to(-1)}>
        <ChevronUp size={16} aria-hidden />
      </button>
      <button
        className="icon-button"
        aria-label="Next row"
        aria-disabled={at === rows.length - 1}
        onClick={() => to(1)}
      >
        <ChevronDown size={16} aria-hidden />
      </button>
    </>
  )
}

function CopyLink() {
  return (
    <button
      className="icon-button"
      aria-label="Copy a link to this record"
      title="Copy a link to this record (l)"
      onClick={() => void copy('The link', location.href)}
    >
      <Link2 size={16} aria-hidden />
    </button>
  )
}
