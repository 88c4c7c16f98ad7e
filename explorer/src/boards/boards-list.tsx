import { useQuery } from '@tanstack/react-query'
import { LayoutDashboard, Plus } from 'lucide-react'
import { useEffect, useState } from 'react'
import { boardsQuery, type Board } from '../api/boards'
import { membersQuery, nameOf } from '../api/people'
import { link } from '../address'
import { formatMoment } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { Notice } from '../ui/notice'
import { DeleteBoard, NewBoard, RenameBoard } from './board-dialogs'
import { Menu } from './board-menu'

/** BoardsList has all boards of the workspace. */
export function BoardsList({ workspace }: ScreenProps) {
  const boards = useQuery(boardsQuery(workspace.id))
  const [creating, setCreating] = useState(false)
  useEffect(() => {
    document.title = 'Boards · Atlas'
  }, [])
  return (
    <div className="screen">
      <Top workspace={workspace} />
      <main className="page boards" aria-busy={boards.isFetching}>
        <div className="views-head">
          <h1>Boards</h1>
          <p className="quiet">Shared with everyone in {workspace.name}</p>
          <button className="button primary" onClick={() => setCreating(true)}>
            <Plus size={14} aria-hidden /> New board
          </button>
        </div>
        {boards.error && !boards.data ? (
          <Notice error={boards.error} retry={() => void boards.refetch()} />
        ) : !boards.data ? (
          <div className="views-wait" role="status" aria-label="Loading boards">
            {[72, 54, 66].map((width) => (
              <div key={width} className="skeleton line" style={{ width: `${width}%` }} />
            ))}
          </div>
        ) : boards.data.length === 0 ? (
          <Empty create={() => setCreating(true)} />
        ) : (
          <table className="views-table boards-table">
            <thead>
              <tr>
                <th>Name</th>
                <th className="numeric">Tiles</th>
                <th>Changed</th>
                <th>
                  <span className="sr">More</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {boards.data.map((b) => (
                <BoardRow key={b.id} board={b} />
              ))}
            </tbody>
          </table>
        )}
        {creating && <NewBoard workspace={workspace.id} onClose={() => setCreating(false)} />}
      </main>
    </div>
  )
}

function BoardRow({ board }: { board: Board }) {
  const members = useQuery({ ...membersQuery(board.workspace_id), staleTime: 300_000 })
  const changer = members.data?.find((m) => m.id === board.updated_by)
  const by = board.updated_by === null ? 'an API key' : changer ? nameOf(changer) : 'a former member'
  return (
    <tr>
      <td className="name">
        <a {...link(`/boards/${board.id}`)} title={board.name}>
          <bdi>{board.name}</bdi>
        </a>
      </td>
      <td className="numeric">{board.tiles.length}</td>
      <td className="when">
        {formatMoment(new Date(board.updated_at))}
        {members.isPending ? '' : <span className="quiet"> by {by}</span>}
      </td>
      <td>
        <Menu
          of={board.name}
          actions={{
            'Rename…': (close) => <RenameBoard board={board} onClose={close} />,
            'Delete…': (close) => <DeleteBoard board={board} onClose={close} />,
          }}
        />
      </td>
    </tr>
  )
}

/** examples are searches whose charts are worth a tile. */
const examples: [string, string][] = [
  ['Cost of permits by month', '/projects?look=chart&by=permitted_at:month&of=sum:cost'],
  ['Projects by use and year', '/projects?look=pivot&by=primary_use&across=permitted_at:year'],
  ['Where they are being built', '/projects?stage=under_construction&look=map'],
]

function Empty({ create }: { create: () => void }) {
  return (
    <div className="notice">
      <h2>
        <LayoutDashboard size={16} aria-hidden /> No boards yet
      </h2>
      <p>
        A board is a page of charts, pivots, maps and Views that your workspace looks at together. It is counted when it
        is opened, which costs nothing.
      </p>
      <p>Look at a search as one of these, and press “Add to board” above it:</p>
      <ul className="ways">
        {examples.map(([text, address]) => (
          <li key={address}>
            <a {...link(address)}>{text}</a>
          </li>
        ))}
      </ul>
      <div className="actions">
        <button className="button primary" onClick={create}>
          Make a board
        </button>
      </div>
    </div>
  )
}
