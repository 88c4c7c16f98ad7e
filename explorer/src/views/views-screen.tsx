import '../search/search.css'
import './views.css'
import { useAddress } from '../address'
import type { ScreenProps } from '../shell/screens'
import { OpenView } from './open-view'
import { ViewsList } from './views-list'

/** ViewsScreen lists the Views, or searches in the one of the address. */
export default function ViewsScreen(props: ScreenProps) {
  const id = useAddress().path.split('/')[2]
  return id ? <OpenView key={id} id={id} {...props} /> : <ViewsList {...props} />
}
