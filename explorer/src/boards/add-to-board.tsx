import { LayoutDashboard } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Tile } from './tile'

const AddDialog = lazy(() => import('./add-dialog'))

/** AddToBoard puts what is drawn on a board. */
export function AddToBoard({ workspace, tile }: { workspace: string; tile: Tile | { problem: string } }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button className="button" onClick={() => setOpen(true)}>
        <LayoutDashboard size={14} aria-hidden /> Add to board
      </button>
      {open && (
        <Suspense>
          <AddDialog workspace={workspace} tile={tile} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
