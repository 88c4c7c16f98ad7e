import { useQueryClient } from '@tanstack/react-query'
import { Check, Copy, Download, ListMinus, ListPlus, Tag, Users, type LucideIcon } from 'lucide-react'
import { lazy, Suspense, useState, type ComponentType, type ReactNode } from 'react'
import type { Book } from '../api/book'
import type { View } from '../api/views'
import { startExport } from '../export/start-export'
import { formatNumber } from '../format'
import { nameOf } from '../search/columns'
import { useSearch } from '../search/context'
import { nameQuery } from '../search/names'
import { maxFirms, peopleAt } from '../search/people-at'
import { bookOf } from '../source'
import type { Selection } from './selection'
import { csvOf, jsonOf } from './texts'

const AddToList = lazy(() => import('../views/add-to-list'))
const RemoveFromList = lazy(() => import('../views/remove-from-list'))
const SetStatus = lazy(() => import('../views/set-status'))

export interface ActionProps {
  selection: Selection
}

/**
 * actions are the buttons of the bar below the table, in their order. Each is a component, so
 * that it can open a dialog of its own. It works on the selected rows that are loaded; the bar
 * offers to load the others, with the price.
 */
export const actions: { key: string; action: ComponentType<ActionProps> }[] = [
  { key: 'list', action: AddAction },
  { key: 'status', action: StatusAction },
  { key: 'remove', action: RemoveAction },
  { key: 'people', action: PeopleAction },
  { key: 'export', action: ExportAction },
  {
    key: 'csv',
    action: ({ selection }) => (
      <CopyAs label="CSV" of={() => csvOf(selection.records(), selection.columns)} selection={selection} />
    ),
  },
  {
    key: 'json',
    action: ({ selection }) => <CopyAs label="JSON" of={() => jsonOf(selection.records())} selection={selection} />,
  },
  {
    key: 'ids',
    action: ({ selection }) => <CopyAs label="IDs" of={() => selection.ids.join('\n')} selection={selection} />,
  },
]

function AddAction({ selection }: ActionProps) {
  return (
    <InDialog label="Add to a list…" icon={ListPlus} selection={selection}>
      {(book, ids, close) => <AddToList dataset={book} ids={ids} onClose={close} />}
    </InDialog>
  )
}

function StatusAction({ selection }: ActionProps) {
  return (
    <InDialog label="Set status, add tags…" icon={Tag} selection={selection}>
      {(book, ids, close) => <SetStatus dataset={book} ids={ids} onClose={close} />}
    </InDialog>
  )
}

function RemoveAction({ selection }: ActionProps) {
  const { view } = useSearch()
  const list: View | undefined = view?.view_type === 'static' ? view : undefined
  if (!list) return null
  // A removed row is no longer selected.
  return (
    <InDialog label="Remove from this list…" icon={ListMinus} selection={selection} closed={selection.clear}>
      {(_, ids, close) => <RemoveFromList list={list} ids={ids} onClose={close} />}
    </InDialog>
  )
}

interface InDialogProps extends ActionProps {
  label: string
  icon: LucideIcon
  closed?: () => void
  children: (book: Book, ids: string[], close: () => void) => ReactNode
}

/** InDialog opens a dialog about the rows selected at that time. There is no book of signals. */
function InDialog({ label, icon: Icon, selection, closed, children }: InDialogProps) {
  const [ids, setIDs] = useState<string[]>()
  const book = bookOf(selection.dataset)
  if (!book) return null
  const close = () => {
    setIDs(undefined)
    closed?.()
  }
  return (
    <>
      <button
        className="button"
        title="For rows that are loaded, which is free"
        disabled={selection.ids.length === 0}
        onClick={() => setIDs(selection.ids)}
      >
        <Icon size={13} aria-hidden /> {label}
      </button>
      {ids && <Suspense>{children(book, ids, close)}</Suspense>}
    </>
  )
}

/** PeopleAction links to the people at the selected firms. Counting them is free. */
function PeopleAction({ selection }: ActionProps) {
  const { workspace, change } = useSearch()
  const client = useQueryClient()
  const { dataset, ids, records } = selection
  if (dataset !== 'accounts') return null
  const some = ids.slice(0, maxFirms)
  const open = () => {
    for (const record of records()) {
      client.setQueryData(nameQuery(workspace.id, 'accounts', record.id).queryKey, nameOf(record))
    }
    change(peopleAt(some))
  }
  return (
    <button
      className="button"
      title="A search for people, which is counted for nothing"
      disabled={ids.length === 0}
      onClick={open}
    >
      <Users size={13} aria-hidden /> People at{' '}
      {ids.length > maxFirms ? `the first ${formatNumber(maxFirms)}` : ids.length === 1 ? 'this firm' : 'these firms'}
    </button>
  )
}

/**
 * ExportAction opens the form and price of an export. Rows of the book and of Views have fewer
 * members than an export.
 */
function ExportAction({ selection }: ActionProps) {
  const { state, body } = useSearch()
  if (state.source) return null
  const { dataset, ids } = selection
  return (
    <button
      className="button"
      title="Asks first. Rows that are loaded are not paid again"
      disabled={ids.length === 0}
      onClick={() => void startExport({ dataset, body, ids })}
    >
      <Download size={13} aria-hidden /> Export…
    </button>
  )
}

/** CopyAs copies loaded rows, which is free. */
function CopyAs({ label, of, selection }: { label: string; of: () => string; selection: Selection }) {
  const [copied, setCopied] = useState<string[]>()
  const done = copied === selection.ids
  const Icon = done ? Check : Copy
  return (
    <button
      className="button"
      title="Copies rows that are loaded, which is free"
      disabled={selection.ids.length === 0}
      onClick={() => void navigator.clipboard.writeText(of()).then(() => setCopied(selection.ids))}
    >
      <Icon size={13} aria-hidden /> {done ? 'Copied' : 'Copy'} {label}
    </button>
  )
}
