import { useMutation } from '@tanstack/react-query'
import { BookmarkPlus } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { saveViewMutation, type View } from '../api/views'
import { bookOf } from '../source'
import { notify } from '../ui/toast'
import { isPresentationChanged, presentationOf } from '../views/presentation'
import { useSearch } from './context'
import { isEmpty } from './state'

const SaveViewDialog = lazy(() => import('../views/save-view-dialog'))

/** SaveView saves the search as a View, if it has conditions; there are no Views of signals. */
export function SaveView() {
  const { state, view } = useSearch()
  const [open, setOpen] = useState(false)
  const book = bookOf(state.dataset)
  if (view && isEmpty(state)) return isPresentationChanged(view, state) ? <SaveLook view={view} /> : null
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

/** SaveLook saves columns and order in the View, for everyone. */
function SaveLook({ view }: { view: View }) {
  const { state } = useSearch()
  const save = useMutation(saveViewMutation(view.workspace_id))
  const submit = () => {
    const { id, presentation } = view
    save.mutate(
      { id, presentation: presentationOf(state) },
      {
        onSuccess: ({ name, revision }) =>
          notify(`“${name}” keeps its columns and order`, () => save.mutateAsync({ id, revision, presentation })),
        onError: (error) => notify(`The View is as before: ${error.message}`),
      },
    )
  }
  return (
    <button
      className="button save-view"
      title="For everyone in the workspace"
      disabled={save.isPending}
      onClick={submit}
    >
      <BookmarkPlus size={14} aria-hidden /> Keep columns and order
    </button>
  )
}
