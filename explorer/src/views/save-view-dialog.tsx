import { useMutation, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Book } from '../api/book'
import type { Schemas } from '../api/client'
import { facetsQuery } from '../api/queries'
import { deleteViewMutation, saveViewMutation, viewDatasets, viewQuery } from '../api/views'
import { go } from '../address'
import { nouns } from '../datasets'
import { useSearch } from '../search/context'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { SaveAsList } from './save-as-list'
import { mergeSearches, fromDefinition, toDefinition } from './definition'
import { StoredParts } from './stored-parts'
import { presentationLosses } from './presentation-losses'
import { NameField } from './name-field'
import { presentationOf } from './presentation'
import { isChanged, SaveProblem } from './save-problem'
import { addressOf } from './view-row'

/** SaveViewDialog saves the current search as a Dynamic View, and first shows which parts a View cannot store. */
export default function SaveViewDialog({ book, onClose }: { book: Book; onClose: () => void }) {
  const { workspace, state, body, view } = useSearch()
  const edited = useQuery({ ...viewQuery(workspace.id, state.edits ?? ''), enabled: state.edits !== undefined })
  const around = view?.view_type === 'dynamic' ? view : undefined
  const target = around ?? edited.data
  const whole = around ? mergeSearches(fromDefinition(around, book), state) : { state, dropped: [] }
  const { definition, stored, widened, ...translated } = toDefinition(whole.state, book)
  const dropped = [...whole.dropped, ...translated.dropped]
  const empty = Object.keys(definition.fields).length === 0 && !definition.q

  const found = useQuery(facetsQuery(workspace.id, book, body, []))

  const [name, setName] = useState('')
  const [asNew, setAsNew] = useState(false)
  const update = asNew ? undefined : target
  const id = useId()
  const save = useMutation(saveViewMutation(workspace.id))
  const remove = useMutation(deleteViewMutation(workspace.id))
  const submit = () => {
    const common = { definition, presentation: presentationOf(state, update) }
    // Without a revision it overwrites what others have saved meanwhile.
    const revision = update && !isChanged(save.error) ? { revision: update.revision } : {}
    const next = update
      ? { ...common, id: update.id, ...revision }
      : { ...common, dataset: viewDatasets[book], view_type: 'dynamic', name }
    save.mutate(next as Schemas['ViewUpsert'], {
      onSuccess: ({ id, revision, ...saved }) => {
        const undo = async () => {
          if (!update) return remove.mutateAsync(id)
          const { definition, presentation } = update
          await save.mutateAsync({ id, revision, definition, presentation } as Schemas['ViewUpsert'])
        }
        notify(update ? `“${saved.name}” is changed` : `“${saved.name}” is in Views now`, undo)
        onClose()
        // The View has the conditions now.
        if (update) go(addressOf({ id, revision, ...saved }))
      },
    })
  }
  return (
    <Dialog title={update ? `Change “${update.name}”` : 'Save as View'} onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          submit()
        }}
      >
        {target && (
          <fieldset className="choice-list">
            <legend className="sr">What to save</legend>
            <label>
              <input type="radio" name={id} checked={!asNew} onChange={() => setAsNew(false)} />
              <span>Change “{target.name}” for everyone</span>
            </label>
            <label>
              <input type="radio" name={id} checked={asNew} onChange={() => setAsNew(true)} />
              <span>Save as a new View</span>
            </label>
          </fieldset>
        )}
        {!update && <NameField value={name} onChange={setName} placeholder={`Such as: ${nouns[book].many} to call`} />}
        {edited.error && <p className="problem">The View that you were changing is gone. This saves a new one.</p>}
        <StoredParts
          book={book}
          stored={stored}
          dropped={dropped}
          widened={widened}
          look={presentationLosses(state, book)}
        />
        <p className="quiet">
          The View finds new records by itself. Everyone in {workspace.name} can open and change it.
        </p>
        {!update && dropped.length + widened.length > 0 && found.data && (
          <SaveAsList book={book} name={name} count={found.data.count} onClose={onClose} />
        )}
        {save.error && <SaveProblem error={save.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={save.isPending || (empty && dropped.length > 0)}>
            {isChanged(save.error) ? 'Save mine' : dropped.length > 0 ? 'Save what can be kept' : 'Save'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
