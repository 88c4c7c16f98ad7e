import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { boardSaved, boardsQuery, changeTiles, maxTiles, saveBoard, type Board } from '../api/boards'
import { NameField } from '../views/name-field'
import { Dialog } from '../ui/dialog'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { BoardProblem } from './board-dialogs'
import { removeTile } from './changes'
import { maxName, type Tile } from './tile'

interface Props {
  workspace: string
  tile: Tile | { problem: string }
  onClose: () => void
}

/** AddDialog asks for the board and the title of a tile. */
export default function AddDialog({ workspace, tile, onClose }: Props) {
  if ('problem' in tile) {
    return (
      <Dialog title="Add to board" onClose={onClose}>
        <p>{tile.problem}</p>
        <div className="actions">
          <button className="button primary" onClick={onClose}>
            OK
          </button>
        </div>
      </Dialog>
    )
  }
  return <Add workspace={workspace} tile={tile} onClose={onClose} />
}

const isFull = (board: Board) => board.tiles.length >= maxTiles

function Add({ workspace, tile, onClose }: Props & { tile: Tile }) {
  const boards = useQuery(boardsQuery(workspace))
  const [chosen, setChosen] = useState<string>()
  const [title, setTitle] = useState(tile.title)
  const [name, setName] = useState('')
  // At first a board with room, or a new one; later changes of boards by others do not change the
  // choice.
  if (chosen === undefined && boards.data) setChosen(boards.data.find((b) => !isFull(b))?.id ?? '')
  const board = chosen ?? ''
  const gone = board !== '' && !boards.data?.some((b) => b.id === board)
  const save = useMutation({
    mutationFn: () => {
      const added = { ...tile, title: title.trim() }
      return board === ''
        ? saveBoard(workspace, { name: name.trim(), tiles: [added] })
        : changeTiles(workspace, board, ({ tiles }) => [...tiles, added])
    },
    onSuccess: (saved, _variables, _result, { client }) => {
      boardSaved(client, workspace, saved)
      const { apply } = removeTile(saved.tiles, saved.tiles.length - 1)
      const undo = async () =>
        boardSaved(client, workspace, await changeTiles(workspace, saved.id, (now) => apply(now)?.tiles))
      notify(`“${title.trim()}” is on “${saved.name}”`, undo)
      onClose()
    },
    onSettled: (_saved, _error, _variables, _result, { client }) => boardSaved(client, workspace),
  })
  return (
    <Dialog title="Add to board" onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          save.mutate()
        }}
      >
        {boards.error && !boards.data ? (
          <Notice error={boards.error} retry={() => void boards.refetch()} />
        ) : (
          <label className="field">
            <span>Board</span>
            <select value={board} disabled={!boards.data} onChange={(e) => setChosen(e.target.value)}>
              {boards.data?.map((b) => (
                <option key={b.id} value={b.id} disabled={isFull(b)}>
                  {isFull(b) ? `${b.name} (full: ${maxTiles} tiles)` : b.name}
                </option>
              ))}
              {gone && (
                <option value={board} disabled>
                  This board is gone: choose another
                </option>
              )}
              <option value="">A new board</option>
            </select>
          </label>
        )}
        {board === '' && (
          <NameField value={name} maxLength={maxName} onChange={setName} placeholder="Such as: Calgary this quarter" />
        )}
        <label className="field">
          <span>Title of the tile</span>
          <input type="text" required maxLength={maxName} value={title} onChange={(e) => setTitle(e.target.value)} />
        </label>
        <p className="quiet">
          The board keeps what to count, not what is found: relative dates stay relative. Everyone in the workspace sees
          it.
        </p>
        {save.error && <BoardProblem error={save.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            className="button primary"
            disabled={save.isPending || !boards.data || gone || !title.trim() || (board === '' && !name.trim())}
          >
            Add
          </button>
        </div>
      </form>
    </Dialog>
  )
}
