import '../search/search.css'
import '../views/views.css'
import '../views/dialogs.css'
import '../ui/page.css'
import './boards.css'
import { useAddress } from '../address'
import type { ScreenProps } from '../shell/screens'
import { BoardsList } from './boards-list'
import { OpenBoard } from './open-board'

/** BoardsScreen lists the boards, or shows the one that the address names. */
export default function BoardsScreen(props: ScreenProps) {
  const id = useAddress().path.split('/')[2]
  return id ? <OpenBoard key={id} id={id} {...props} /> : <BoardsList {...props} />
}
