import { Check } from 'lucide-react'
import type { User } from '../api/session'
import { parameter, shortOf } from './workspace'

/** Workspaces links to the workspaces of a user. Each opens as a new page, without state of another one. */
export function Workspaces({ user, current }: { user: User; current?: string }) {
  const all = user.workspaces ?? []
  return (
    <nav className="workspaces" aria-label="Workspaces">
      {all.map((m) => (
        <a
          key={m.id}
          href={`/?${parameter}=${shortOf(m.id, all)}`}
          aria-current={m.id === current ? 'true' : undefined}
        >
          <span>{m.name}</span>
          {m.id === current && <Check size={14} aria-hidden />}
        </a>
      ))}
    </nav>
  )
}
