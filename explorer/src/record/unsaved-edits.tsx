import './unsaved-edits.css'
import { useQueryClient } from '@tanstack/react-query'
import { link, useAddress } from '../address'
import { Conflict, type Book } from '../api/book'
import { capital, labelOf } from '../datasets'
import { pathOf } from '../source'
import { retry, discard, useUnsaved, type Edit } from './unsaved'

/** UnsavedEdits has the unsaved edits of records that are not in the drawer. */
export function UnsavedEdits() {
  const { path } = useAddress()
  const edits = useUnsaved().filter((edit) => !path.endsWith(`/${recordOf(edit).id}`))
  if (edits.length === 0) return null
  return (
    <div className="unsaved-edits">
      {edits.map((edit) => (
        <UnsavedEdit key={edit.mutationId} edit={edit} outsideDrawer />
      ))}
    </div>
  )
}

/** UnsavedEdit says what is not saved, and why. */
export function UnsavedEdit({ edit, outsideDrawer }: { edit: Edit; outsideDrawer?: boolean }) {
  const client = useQueryClient()
  const { error, variables } = edit.state
  const next = variables?.next
  const what = next ? Object.keys(next).map((key) => labelOf(key)) : ['Taking it out of your book']
  const typed = Object.values(next ?? {})
    .flat()
    .filter(Boolean)
    .join(', ')
  return (
    <div className="unsaved-edit" role="alert">
      <p>
        <b>
          {what.join(', ')}
          {outsideDrawer && (
            <>
              {' '}
              of <bdi>{String(edit.meta?.name)}</bdi>
            </>
          )}{' '}
          is not saved.
        </b>{' '}
        {capital(error?.message ?? '')}.{typed && <q>{typed}</q>}
      </p>
      <div className="actions">
        {!(error instanceof Conflict) && (
          <button className="button" onClick={() => retry(edit)}>
            Try again
          </button>
        )}
        {outsideDrawer && (
          <a className="button" {...link(pathOf(recordOf(edit)))}>
            Open it
          </a>
        )}
        <button className="button" onClick={() => discard(client, edit)}>
          Discard
        </button>
      </div>
    </div>
  )
}

/** recordOf is the record of an edit, as an address has it. */
function recordOf(edit: Edit) {
  const [, , dataset, id] = edit.options.mutationKey as [string, string, Book, string]
  return { dataset, record: id, id }
}
