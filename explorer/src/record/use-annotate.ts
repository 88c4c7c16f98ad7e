import { useMutation, useQueryClient } from '@tanstack/react-query'
import { annotate, undoOf, type Annotations, type Book, type Change } from '../api/book'
import { useSearch } from '../search/context'
import { notify } from '../ui/toast'
import { discard, useUnsaved } from './unsaved'

/** useAnnotate saves the annotations of a record, confirms it, and offers to undo it. */
export function useAnnotate(book: Book, id: string, name: string) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const options = annotate(workspace.id, book, id, name)
  const { mutate } = useMutation({
    ...options,
    // Also when the drawer shows another record by then.
    onSuccess: (saved, change, ...rest) => {
      options.onSuccess?.(saved, change, ...rest)
      const { done } = change
      const undo = undoOf(change, saved)
      if (!done) return
      if (!undo) notify(done)
      else notify(saved.before ? done : `${done}; the record is in your book now`, () => mutate(undo))
    },
  })
  const unsaved = useUnsaved(workspace.id, book, id)
  /** save takes the annotations that the user saw: null if the record is not in the book. */
  const save = (next: Change['next'], seen: Annotations | null, done: string) => {
    // It replaces a failed edit of the same fields.
    for (const edit of unsaved) {
      const keys = Object.keys(edit.state.variables?.next ?? {})
      if (!next || keys.every((key) => key in next)) discard(client, edit)
    }
    mutate({ next, seen, done })
  }
  return { save, unsaved, overwrite: (next: Change['next']) => mutate({ next }) }
}
