import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  boardQuery,
  boardSaved,
  deleteBoardMutation,
  isConflict,
  restoreBoard,
  saveBoardMutation,
  type Board,
} from '../api/boards'
import { go } from '../address'
import { NameField } from '../views/name-field'
import { Dialog } from '../ui/dialog'
import { Notice } from '../ui/notice'
import { Problem } from '../ui/problem'
import { notify } from '../ui/toast'
import { maxName } from './tile'

/** BoardProblem explains why a board was not saved. */
export function BoardProblem({ error }: { error: Error }) {
  return <Problem error={error} texts={texts} />
}

const texts: Record<string, string> = {
  limit_reached: 'This workspace has 50 boards, as many as it may have. Delete one first.',
  revision_conflict:
    'Somebody has changed this board meanwhile. Press the button again: what they did to its tiles stays.',
  not_found: 'This board is gone: somebody has deleted it.',
}

interface NameProps {
  title: string
  /** What the button does. */
  action: string
  name?: string
  busy?: boolean
  error?: Error | null
  onName: (name: string) => void
  onClose: () => void
}

/** NameDialog asks for the name of a board, or for the title of a tile. */
export function NameDialog({ title, action, name = '', busy = false, error, onName, onClose }: NameProps) {
  const [text, setText] = useState(name)
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          onName(text.trim())
        }}
      >
        <NameField value={text} maxLength={maxName} onChange={setText} onFocus={(e) => e.target.select()} />
        {error && <BoardProblem error={error} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={busy || !text.trim()}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** NewBoard creates an empty board, and opens it. */
export function NewBoard({ workspace, onClose }: { workspace: string; onClose: () => void }) {
  const save = useMutation(saveBoardMutation(workspace))
  return (
    <NameDialog
      title="New board"
      action="Create"
      busy={save.isPending}
      error={save.error}
      onClose={onClose}
      onName={(name) =>
        save.mutate(
          { name, tiles: [] },
          {
            onSuccess: ({ id }) => {
              onClose()
              go(`/boards/${id}`)
            },
          },
        )
      }
    />
  )
}

/** RenameBoard gives a board another name. */
export function RenameBoard({ board, onClose }: { board: Board; onClose: () => void }) {
  // The board as it was when the dialog opened, whatever is read meanwhile.
  const [before] = useState(board)
  const save = useMutation(saveBoardMutation(board.workspace_id))
  const revision = isConflict(save.error) ? {} : { revision: before.revision }
  return (
    <NameDialog
      title={`Rename “${before.name}”`}
      action="Rename"
      name={before.name}
      busy={save.isPending}
      error={save.error}
      onClose={onClose}
      onName={(name) =>
        save.mutate(
          { id: board.id, name, ...revision },
          {
            onSuccess: ({ name, revision }) => {
              const undo = () => save.mutateAsync({ id: board.id, name: before.name, revision })
              if (name !== before.name) notify(`It is called “${name}” now`, undo)
              onClose()
            },
          },
        )
      }
    />
  )
}

/**
 * DeleteBoard shows what is lost, and deletes. It remembers the board for the undo: others may
 * have changed it since the page read it.
 */
export function DeleteBoard({ board, onClose }: { board: Board; onClose: () => void }) {
  const { id, workspace_id: workspace } = board
  const { data: now = board, isFetching } = useQuery({ ...boardQuery(workspace, id), refetchOnMount: 'always' })
  const { name, tiles } = now
  const remove = useMutation<Board | undefined, Error, string>({
    ...deleteBoardMutation(workspace),
    onSuccess: (deleted, _id, _result, { client }) =>
      notify(
        `“${deleted?.name ?? name}” is deleted`,
        deleted &&
          (async () => {
            const { restored, lost } = await restoreBoard(workspace, deleted)
            boardSaved(client, workspace, restored)
            if (lost > 0) notify(`“${restored.name}” is back without ${counted(lost)}: ${lossOf(lost)}`)
          }),
      ),
  })
  const deleted = () => {
    onClose()
    go('/boards')
  }
  return (
    <Dialog title={`Delete “${name}”?`} onClose={onClose}>
      <p>The board is gone for everyone, with its {counted(tiles.length)}. Links to it no longer work.</p>
      <p>Views and records stay: a board has only what to count.</p>
      {remove.error && <Notice error={remove.error} refused="It is not deleted" />}
      <div className="actions">
        <button className="button" autoFocus onClick={onClose}>
          Cancel
        </button>
        <button
          className="button primary danger"
          disabled={remove.isPending || isFetching}
          onClick={() => remove.mutate(id, { onSuccess: deleted })}
        >
          Delete the board
        </button>
      </div>
    </Dialog>
  )
}

const lossOf = (tiles: number) => (tiles === 1 ? 'what it counts is gone' : 'what they count is gone')

/** counted is a number of tiles. */
export const counted = (tiles: number) => `${tiles} ${tiles === 1 ? 'tile' : 'tiles'}`
