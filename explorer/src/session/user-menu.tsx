import './session.css'
import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { handleLinkClick, link } from '../address'
import { sessionQuery, workspaceQuery } from '../api/queries'
import { signOut } from '../api/session'
import { isMac } from '../ui/is-mac'
import { useTheme, themes } from '../ui/theme'
import { capital } from '../datasets'
import { show } from '../palette/show'
import { Workspaces } from './workspaces'

/** UserMenu has the signed-in user, the theme, and the sign-out. */
export function UserMenu() {
  const { data: user } = useQuery(sessionQuery)
  const { data: workspace } = useQuery(workspaceQuery)
  const [theme, setTheme] = useTheme()
  const id = useId()
  const name = user?.name || user?.email || ''
  const open = (e: React.MouseEvent<HTMLAnchorElement>) => {
    document.getElementById(id)?.hidePopover()
    handleLinkClick(e)
  }
  return (
    <div className="user">
      <button className="avatar" popoverTarget={id} aria-label={`Signed in as ${name}`}>
        {name.charAt(0).toUpperCase()}
      </button>
      <div id={id} popover="auto" className="menu">
        <p>
          <b>{user?.name}</b>
          <span>{user?.email}</span>
        </p>
        {user?.workspaces && user.workspaces.length > 1 && <Workspaces user={user} current={workspace?.id} />}
        <fieldset>
          <legend>Theme</legend>
          <div className="segments">
            {themes.map((t) => (
              <label key={t}>
                <input type="radio" name="theme" checked={theme === t} onChange={() => setTheme(t)} />
                <span>{capital(t)}</span>
              </label>
            ))}
          </div>
        </fieldset>
        <button
          className="keyed"
          onClick={() => {
            document.getElementById(id)?.hidePopover()
            show('palette')
          }}
        >
          Everything by its name <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <a {...link('/settings/members')} onClick={open}>
          Settings
        </a>
        <a {...link('/export')} onClick={open}>
          Exports
        </a>
        <a href="/docs/analysts">What the words mean</a>
        <a href="/docs">API documentation</a>
        <button onClick={() => void signOut()}>Sign out</button>
      </div>
    </div>
  )
}
