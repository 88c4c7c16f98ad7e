import './shell.css'
import type { ReactNode } from 'react'
import { link, useAddress } from '../address'
import { Bell } from '../queue/bell'
import { CreditsMeter } from '../session/credits-meter'
import { UserMenu } from '../session/user-menu'
import { Mark } from '../ui/mark'
import { screenOf, screens, searchScreen } from './screens'

interface Props {
  workspace: { id: string; name: string }
  /** What the screen adds to the header, such as a search box. */
  children?: ReactNode
}

/** skip goes to the first row, or to the main content of the screen. */
function skip() {
  const row = document.querySelector<HTMLElement>('[role=row][tabindex="0"]')
  const main = document.querySelector<HTMLElement>('main')
  main?.setAttribute('tabindex', '-1')
  ;(row ?? main)?.focus()
}

/** Top is the header of every screen. */
export function Top({ workspace, children }: Props) {
  const current = screenOf(useAddress().path)
  const shown = [searchScreen, ...screens].filter((s) => s.inHeader)
  return (
    <header className="top">
      <button className="skip" onClick={skip}>
        Skip to the results
      </button>
      <a className="brand" {...link('/')} aria-label={`Atlas, ${workspace.name}`}>
        <Mark />
        <span>{workspace.name}</span>
      </a>
      {shown.length > 1 && (
        <nav className="screens" aria-label="Screens">
          {shown.map(({ path, label, icon: Icon }) => (
            <a key={path} {...link(`/${path}`)} aria-current={path === current.path ? 'page' : undefined}>
              <Icon size={15} aria-hidden />
              <span>{label}</span>
            </a>
          ))}
        </nav>
      )}
      {children}
      <Bell workspace={workspace.id} />
      <CreditsMeter />
      <UserMenu />
    </header>
  )
}
