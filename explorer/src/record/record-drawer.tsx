import './record.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ChevronDown, ChevronUp, Link2, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { books } from '../api/book'
import { findLoaded, findRow, recordQuery } from '../api/queries'
import { nouns } from '../datasets'
import { credits } from '../format'
import { nameOf } from '../search/columns'
import { useSearch } from '../search/context'
import { Notice } from '../ui/notice'
import { Annotations } from './annotations'
import { Fields } from './fields'
import { ListButtons } from './list-buttons'
import { Related } from './related'

/** RecordDrawer shows the record of the address beside the table. */
export function RecordDrawer({ id }: { id: string }) {
  const { workspace, state, change } = useSearch()
  const { dataset } = state
  const loaded = findLoaded(useQueryClient(), workspace.id, dataset, id)
  const query = useQuery({ ...recordQuery(workspace.id, dataset, id), enabled: false })
  const record = loaded ?? query.data
  const book = books.find((b) => b === dataset)
  // What a row of the book or of a View says, for nothing more.
  const row = findRow(useQueryClient(), workspace.id, dataset, id, (source) => source !== undefined)
  const shown = record ?? row
  const drawer = useRef<HTMLElement>(null)
  const close = () => {
    const next = { ...state }
    delete next.record
    change(next)
    document.querySelector<HTMLElement>('[role=row][tabindex="0"]')?.focus()
  }
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      if (e.key === 'Escape' && !e.defaultPrevented && !document.querySelector('dialog[open]')) close()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  })
  return (
    <aside className="drawer" ref={drawer} aria-label={shown ? nameOf(shown) : 'Record'}>
      <header>
        <span className="kind">{nouns[dataset].one}</span>
        <Step />
        {book && <ListButtons book={book} id={id} />}
        <CopyLink />
        <button className="icon-button" aria-label="Close the record" onClick={close}>
          <X size={16} aria-hidden />
        </button>
      </header>
      {shown ? (
        <div className="drawer-body">
          <h2>{nameOf(shown)}</h2>
          {book && <Annotations book={book} id={id} />}
          <Fields dataset={dataset} record={shown} />
          {record ? (
            <Related dataset={dataset} record={record} />
          ) : (
            <button className="button" disabled={query.isFetching} onClick={() => void query.refetch()}>
              Show all that is known · {credits(1)}
            </button>
          )}
          {!record && query.error && <Notice error={query.error} retry={() => void query.refetch()} />}
        </div>
      ) : query.error ? (
        <Notice error={query.error} retry={() => void query.refetch()} />
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

/** Step goes to the row before or after, as k and j do in the table. */
function Step() {
  const press = (key: string) => {
    const row = document.querySelector<HTMLElement>('[role=row][tabindex="0"]')
    row?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
  }
  return (
    <>
      <button className="icon-button" aria-label="Previous row" onClick={() => press('k')}>
        <ChevronUp size={16} aria-hidden />
      </button>
      <button className="icon-button" aria-label="Next row" onClick={() => press('j')}>
        <ChevronDown size={16} aria-hidden />
      </button>
    </>
  )
}

function CopyLink() {
  const [copied, setCopied] = useState(false)
  return (
    <button
      className="icon-button"
      aria-label={copied ? 'The link is copied' : 'Copy a link to this record'}
      onClick={() => void navigator.clipboard.writeText(location.href).then(() => setCopied(true))}
    >
      <Link2 size={16} aria-hidden className={copied ? 'copied' : undefined} />
    </button>
  )
}
