import { Ellipsis } from 'lucide-react'
import { lazy, Suspense, useId, useState } from 'react'
import { link } from '../address'
import { datasetOf, sourceOf, type View } from '../api/views'
import { tileOf } from '../boards/tile'
import { format, type SearchState } from '../search/state'
import { DeleteView } from './delete-view'
import { RenameView } from './rename-view'

const AddDialog = lazy(() => import('../boards/add-dialog'))

/** ViewMenu has the actions on a View. definition is the search of a Dynamic View. */
export function ViewMenu({ view, definition }: { view: View; definition: SearchState | undefined }) {
  const [open, setOpen] = useState<'board' | 'rename' | 'delete'>()
  const id = useId()
  const close = () => setOpen(undefined)
  return (
    <div className="view-menu">
      <button className="icon-button" popoverTarget={id} aria-label={`More about ${view.name}`}>
        <Ellipsis size={16} aria-hidden />
      </button>
      <div id={id} popover="auto" className="menu">
        {definition && <a {...link(format({ ...definition, edits: view.id }))}>Change its filters</a>}
        <button popoverTarget={id} popoverTargetAction="hide" onClick={() => setOpen('board')}>
          Add to a board…
        </button>
        <button popoverTarget={id} popoverTargetAction="hide" onClick={() => setOpen('rename')}>
          Rename…
        </button>
        <button popoverTarget={id} popoverTargetAction="hide" onClick={() => setOpen('delete')}>
          Delete…
        </button>
      </div>
      {open === 'board' && (
        <Suspense>
          <AddDialog
            workspace={view.workspace_id}
            tile={tileOf(view.name, datasetOf(view), { source: sourceOf(view) }, { kind: 'view' })}
            onClose={close}
          />
        </Suspense>
      )}
      {open === 'rename' && <RenameView view={view} onClose={close} />}
      {open === 'delete' && <DeleteView view={view} onClose={close} />}
    </div>
  )
}
