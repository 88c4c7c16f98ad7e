import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { followed } from '../address'
import { sessionQuery } from '../api/queries'
import { signOut } from '../api/session'
import { useTheme, themes } from '../ui/theme'
import { capital } from '../datasets'

/** UserMenu has who is signed in, the theme, and the way out. */
export function UserMenu() {
  const { data: user } = useQuery(sessionQuery)
  const [theme, setTheme] = useTheme()
  const id = useId()
  const name = user?.name || user?.email || ''
  const leave = (e: React.MouseEvent<HTMLAnchorElement>) => {
    document.getElementById(id)?.hidePopover()
    followed(e)
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
        <a href="/settings/members" onClick={leave}>
          Settings
        </a>
        <a href="/export" onClick={leave}>
          Exports
        </a>
        <a href="/docs">API documentation</a>
        <button
          onClick={async () => {
            await signOut()
            location.assign('/')
          }}
        >
          Sign out
        </button>
      </div>
    </div>
  )
}
