import './rows-menu.css'
import { ChevronUp, ListMinus, ListPlus, Tag } from 'lucide-react'
import { lazy, Suspense, useId, useState } from 'react'
import type { AnyRecord } from '../datasets'
import { formatNumber } from '../format'
import { bookOf } from '../source'
import { useSearch } from './context'

const AddToList = lazy(() => import('../views/add-to-list'))
const RemoveFromList = lazy(() => import('../views/remove-from-list'))
const SetStatus = lazy(() => import('../views/set-status'))

/** RowsMenu does something with all rows that are loaded. All of it is free. */
export function RowsMenu({ rows }: { rows: AnyRecord[] }) {
  const { state, view } = useSearch()
  const [open, setOpen] = useState<'add' | 'status' | 'remove'>()
  const id = useId()
  const book = bookOf(state.dataset)
  if (!book || rows.length === 0) return null
  const ids = rows.map((r) => r.id)
  const close = () => setOpen(undefined)
  const list = view?.view_type === 'static' ? view : undefined
  const actions = [
    { key: 'add', label: 'Add to a list…', icon: ListPlus },
    { key: 'status', label: 'Set status, add tags…', icon: Tag },
    ...(list ? [{ key: 'remove', label: 'Remove from this list…', icon: ListMinus } as const] : []),
  ] as const
  return (
    <div className="rows-menu">
      <button className="button" popoverTarget={id}>
        <ChevronUp size={14} aria-hidden /> With{' '}
        {rows.length === 1 ? 'this row' : `these ${formatNumber(rows.length)} rows`}
      </button>
      <div id={id} popover="auto" className="menu">
        {actions.map(({ key, label, icon: Icon }) => (
          <button key={key} popoverTarget={id} popoverTargetAction="hide" onClick={() => setOpen(key)}>
            <Icon size={14} aria-hidden /> {label}
          </button>
        ))}
      </div>
      <Suspense>
        {open === 'add' && <AddToList dataset={book} ids={ids} onClose={close} />}
        {open === 'status' && <SetStatus dataset={book} ids={ids} onClose={close} />}
        {open === 'remove' && list && <RemoveFromList list={list} ids={ids} onClose={close} />}
      </Suspense>
    </div>
  )
}
