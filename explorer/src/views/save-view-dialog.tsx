import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Book } from '../api/book'
import type { Schemas } from '../api/client'
import { definitionChanged, deleteView, saveView, viewDatasets, viewQuery } from '../api/views'
import { go } from '../address'
import { nouns } from '../datasets'
import { useSearch } from '../search/context'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { combined, fromDefinition, toDefinition } from './definition'
import { Kept } from './kept'
import { presentationOf } from './presentation'
import { isChanged, SaveProblem } from './save-problem'
import { addressOf } from './view-row'

/** SaveViewDialog saves the present search as a Dynamic View, and says first what a View cannot keep of it. */
export default function SaveViewDialog({ book, onClose }: { book: Book; onClose: () => void }) {
  const { workspace, state, view } = useSearch()
  const client = useQueryClient()
  const edited = useQuery({ ...viewQuery(workspace.id, state.edits ?? ''), enabled: state.edits !== undefined })
  const around = view?.view_type === 'dynamic' ? view : undefined
  const target = around ?? edited.data
  const whole = around ? combined(fromDefinition(around, book), state) : { state, dropped: [] }
  const { definition, kept, widened, ...translated } = toDefinition(whole.state, book)
  const dropped = [...whole.dropped, ...translated.dropped]
  const empty = Object.keys(definition.fields).length === 0 && !definition.q

  const [name, setName] = useState('')
  const [asNew, setAsNew] = useState(false)
  const update = asNew ? undefined : target
  const id = useId()
  const save = useMutation({
    // Without a revision it takes the place of what others have saved meanwhile.
    mutationFn: (revision?: number) => {
      const common = { definition, presentation: presentationOf(state, update) }
      const next = update
        ? { ...common, id: update.id, ...(revision === undefined ? {} : { revision }) }
        : { ...common, dataset: viewDatasets[book], view_type: 'dynamic', name }
      return saveView(workspace.id, next as Schemas['ViewUpsert'])
    },
    onSuccess: (saved) => {
      const shown = () => definitionChanged(client, saved)
      const undo = async () => {
        const { id, definition, presentation } = update ?? saved
        if (update) await saveView(workspace.id, { id, definition, presentation } as Schemas['ViewUpsert'])
        else await deleteView(workspace.id, id)
        await shown()
      }
      notify(update ? `“${saved.name}” is changed` : `“${saved.name}” is in Views now`, () => void undo())
      void shown()
      onClose()
      // The View has the conditions now.
      if (update) go(addressOf(saved))
    },
  })
  return (
    <Dialog title={update ? `Change “${update.name}”` : 'Save as View'} onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          save.mutate(isChanged(save.error) ? undefined : update?.revision)
        }}
      >
        {target && (
          <fieldset className="choices">
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
        {!update && (
          <label className="field">
            <span>Name</span>
            <input
              type="text"
              autoFocus
              required
              maxLength={120}
              value={name}
              placeholder={`Such as: ${nouns[book].many} to call`}
              onChange={(e) => setName(e.target.value)}
            />
          </label>
        )}
        {edited.error && <p className="problem">The View that you were changing is gone. This saves a new one.</p>}
        <Kept book={book} kept={kept} dropped={dropped} widened={widened} />
        <p className="quiet">It finds new records by itself. Everyone in {workspace.name} can open and change it.</p>
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
