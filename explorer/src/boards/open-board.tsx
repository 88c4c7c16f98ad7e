import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { ArrowLeft, Printer, RefreshCw } from 'lucide-react'
import { useEffect, useRef, useState, type RefObject } from 'react'
import { boardQuery, refreshBoard, tileQuery, type Board } from '../api/boards'
import { RequestError } from '../api/client'
import { link } from '../address'
import { formatDay, formatMoment } from '../format'
import { isID } from '../search/conditions'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { Notice } from '../ui/notice'
import { useOrder } from '../ui/use-order'
import { DeleteBoard, RenameBoard } from './board-dialogs'
import { Menu } from './board-menu'
import { keysOf, moveTile, restoreTile, removeTile, renameTile } from './changes'
import type { Tile } from './tile'
import { TileCard } from './tile-card'
import { useBoardChange } from './use-board-change'

/** OpenBoard shows a board. */
export function OpenBoard({ id, ...props }: ScreenProps & { id: string }) {
  const { workspace } = props
  const valid = isID(id)
  const query = useQuery({ ...boardQuery(workspace.id, id), enabled: valid })
  const { data: board, error } = query
  const gone = !valid || (error instanceof RequestError && error.status === 404)
  const name = board?.name
  useEffect(() => {
    document.title = name === undefined ? 'Boards · Atlas' : `${name} · Atlas`
  }, [name])
  return (
    <div className="screen">
      <Top workspace={workspace} />
      <main className="page board" aria-busy={query.isFetching}>
        {gone ? (
          <div className="notice" role="alert">
            <h1>This board is gone</h1>
            <p>Somebody has deleted it, or it belongs to another workspace. Its searches, Views and records stay.</p>
            <a className="button" {...link('/boards')}>
              All boards
            </a>
          </div>
        ) : board ? (
          <Tiles {...props} board={board} />
        ) : error ? (
          <Notice error={error} retry={() => void query.refetch()} />
        ) : (
          <div className="views-wait" role="status" aria-label="Loading the board">
            <div className="skeleton line" style={{ width: '30%' }} />
            <div className="skeleton line" style={{ width: '60%' }} />
          </div>
        )}
      </main>
    </div>
  )
}

function Tiles({ board, ...props }: ScreenProps & { board: Board }) {
  const { workspace } = props
  const { shown, change, ...waiting } = useBoardChange(workspace.id, board)
  const { tiles } = shown
  const keys = keysOf(tiles)
  const counts = useQueries({ queries: tiles.map((tile) => tileQuery(workspace.id, tile)) })
  const [announcement, setAnnouncement] = useState('')
  const heading = useRef<HTMLHeadingElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const leave = useFocusAfterRemoval(list, heading, tiles.length)
  const { itemProps, handleProps, move } = useOrder(keys, (from, to) => {
    change(moveTile(tiles, from, to))
    setAnnouncement(`${tiles[from]?.title ?? ''} is number ${to + 1}`)
  })
  return (
    <>
      <Head {...props} board={shown} counts={counts} heading={heading} />
      <Conflicts {...waiting} onDecided={() => heading.current?.focus()} />
      {tiles.length === 0 ? (
        <Empty />
      ) : (
        <ol className="board-tiles" ref={list}>
          {tiles.map((tile, i) => {
            const key = keys[i] ?? ''
            const counted = counts[i]
            return (
              counted && (
                <TileCard
                  key={key}
                  {...props}
                  tile={tile}
                  counts={counted}
                  position={i}
                  of={tiles.length}
                  itemProps={itemProps(i)}
                  handleProps={handleProps(i)}
                  move={(to) => move(i, to)}
                  rename={(title) => change(renameTile(tiles, i, title))}
                  remove={() => {
                    leave(i)
                    change(removeTile(tiles, i), isViewDeleted(tile, counted.error) ? undefined : restoreTile(tiles, i))
                  }}
                />
              )
            )
          })}
        </ol>
      )}
      <p className="sr" role="status">
        {announcement}
      </p>
    </>
  )
}

/** isViewDeleted reports that the View of a tile is deleted: such a tile cannot be restored. */
const isViewDeleted = (tile: Tile, error: Error | null) =>
  tile.view_id !== undefined && error instanceof RequestError && error.status === 404

/** useFocusAfterRemoval moves the focus to the tile after a removed one, or to the name of the board. */
function useFocusAfterRemoval(
  list: RefObject<HTMLElement | null>,
  heading: RefObject<HTMLElement | null>,
  count: number,
): (position: number) => void {
  const leaving = useRef<{ position: number; before: number }>(undefined)
  useEffect(() => {
    if (!leaving.current || count >= leaving.current.before) return
    const { position } = leaving.current
    leaving.current = undefined
    // The menu that removed it closes first.
    requestAnimationFrame(() => {
      const titles = list.current?.querySelectorAll<HTMLElement>('h2 > [aria-keyshortcuts]')
      ;(titles?.[position] ?? heading.current)?.focus()
    })
  }, [count, list, heading])
  return (position) => {
    leaving.current = { position, before: count }
  }
}

interface ConflictsProps extends Pick<ReturnType<typeof useBoardChange>, 'conflicts' | 'retry' | 'dismiss'> {
  /** onDecided is called after the choice. */
  onDecided: () => void
}

/** Conflicts are the edits of a board that somebody else has changed. */
function Conflicts({ conflicts, retry, dismiss, onDecided }: ConflictsProps) {
  if (conflicts.length === 0) return null
  return (
    <div className="warning board-conflict" role="alert">
      <p>Somebody has changed this board meanwhile: you see it as it is now. What you did is not saved yet:</p>
      <ul>
        {conflicts.map((step, i) => (
          <li key={i}>
            <span>{step.change.what}</span>
            {Object.entries({ 'Do it now': retry, 'Leave it': dismiss }).map(([name, decide]) => (
              <button
                key={name}
                className="button"
                onClick={() => {
                  decide(step)
                  onDecided()
                }}
              >
                {name}
              </button>
            ))}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface HeadProps extends ScreenProps {
  board: Board
  heading: RefObject<HTMLHeadingElement | null>
  counts: { dataUpdatedAt: number; isFetching: boolean }[]
}

function Head({ workspace, board, counts, heading }: HeadProps) {
  const client = useQueryClient()
  const busy = counts.some((c) => c.isFetching)
  const times = counts.map((c) => c.dataUpdatedAt).filter((at) => at > 0)
  return (
    <div className="board-head">
      <a className="icon-button" {...link('/boards')} aria-label="All boards" title="All boards">
        <ArrowLeft size={16} aria-hidden />
      </a>
      <h1 ref={heading} tabIndex={-1} title={board.name}>
        <bdi>{board.name}</bdi>
      </h1>
      <p className="quiet" aria-live="polite">
        {busy ? 'Counting…' : times.length > 0 && `Counted at ${formatMoment(new Date(Math.min(...times)))}`}
        {/* Paper is read another day. */}
        <span className="print-only">
          , {formatDay(new Date().toISOString())} · {workspace.name}
        </span>
        <span className="auto-refresh"> · again every 5 minutes, for nothing</span>
      </p>
      <button
        className="button"
        disabled={busy}
        title="Counting costs no credits"
        onClick={() => void refreshBoard(client, workspace.id, board.id)}
      >
        <RefreshCw size={14} aria-hidden /> Refresh
      </button>
      <button className="button wide" onClick={() => print()}>
        <Printer size={14} aria-hidden /> Print
      </button>
      <Menu
        of={board.name}
        actions={{
          'Rename…': (close) => <RenameBoard board={board} onClose={close} />,
          'Delete…': (close) => <DeleteBoard board={board} onClose={close} />,
        }}
      />
    </div>
  )
}

function Empty() {
  return (
    <div className="notice">
      <h2>Nothing is on this board yet</h2>
      <ul className="ways">
        <li>
          <b>A chart, a pivot or a map</b>: look at a search, at the book or at a View that way, and press “Add to
          board”.
        </li>
        <li>
          <b>The number of a View</b>: choose “Add to a board…” in its menu.
        </li>
      </ul>
      <div className="actions">
        <a className="button primary" {...link('/projects?look=chart')}>
          Charts of projects
        </a>
        <a className="button" {...link('/views')}>
          Views
        </a>
      </div>
    </div>
  )
}
