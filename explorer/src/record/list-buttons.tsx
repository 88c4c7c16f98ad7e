import { ListMinus, ListPlus } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Book } from '../api/book'
import { useSearch } from '../search/context'

const AddToList = lazy(() => import('../views/add-to-list'))
const RemoveFromList = lazy(() => import('../views/remove-from-list'))

/** ListButtons adds the record to a Static View, or removes it from the open one. */
export function ListButtons({ book, id }: { book: Book; id: string }) {
  const { view } = useSearch()
  const [open, setOpen] = useState<'add' | 'remove'>()
  const close = () => setOpen(undefined)
  const list = view?.view_type === 'static' ? view : undefined
  return (
    <>
      <button className="icon-button" aria-label="Add to a list" title="Add to a list" onClick={() => setOpen('add')}>
        <ListPlus size={16} aria-hidden />
      </button>
      {list && (
        <button
          className="icon-button"
          aria-label="Remove from this list"
          title="Remove from this list"
          onClick={() => setOpen('remove')}
        >
          <ListMinus size={16} aria-hidden />
        </button>
      )}
      <Suspense>
        {open === 'add' && <AddToList dataset={book} ids={[id]} onClose={close} />}
        {open === 'remove' && list && <RemoveFromList list={list} ids={[id]} onClose={close} />}
      </Suspense>
    </>
  )
}
