import { BookmarkPlus } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { bookOf } from '../source'
import { useSearch } from './context'
import { isEmpty } from './state'

const SaveViewDialog = lazy(() => import('../views/save-view-dialog'))

/** SaveView saves the search as a View, if it has conditions; there are no Views of signals. */
export function SaveView() {
  const { state } = useSearch()
  const [open, setOpen] = useState(false)
  const book = bookOf(state.dataset)
  if (!book || (isEmpty(state) && !state.edits)) return null
  return (
    <>
      <button className="button save-view" onClick={() => setOpen(true)}>
        <BookmarkPlus size={14} aria-hidden /> {state.edits ? 'Update the View' : 'Save as View'}
      </button>
      {open && (
        <Suspense>
          <SaveViewDialog book={book} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
