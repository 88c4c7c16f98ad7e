import type { ReactNode } from 'react'
import { nameOf, type Member, type Role } from '../api/people'
import { capital } from '../datasets'
import { formatDay } from '../format'

/** roles are what a member may be, with what each may do. */
export const roles: { role: Role; may: string }[] = [
  { role: 'owner', may: 'can do everything, and alone can make others owners' },
  { role: 'admin', may: 'can also invite people, change their roles and remove them' },
  { role: 'member', may: 'can search, and work on the book and the Views' },
]

interface RowProps {
  member: Member
  isMe: boolean
  /** The role, or its controls. */
  children: ReactNode
}

/** MemberRow is a member of the workspace in the list. */
export function MemberRow({ member, isMe, children }: RowProps) {
  return (
    <li>
      <span className="who">
        <b>
          <bdi>{nameOf(member)}</bdi>
          {isMe && <span className="badge">You</span>}
        </b>
        <bdi>{member.email}</bdi>
      </span>
      <span className="quiet since">since {formatDay(member.joined_at)}</span>
      {children}
    </li>
  )
}

interface ControlsProps {
  member: Member
  isMe: boolean
  onlyOwner: boolean
  /** The user is an owner. */
  byOwner: boolean
  busy: boolean
  setRole: (role: Role) => void
  remove: () => void
}

/** MemberControls change the role of a member, or remove them. */
export function MemberControls({ member, isMe, onlyOwner, byOwner, busy, setRole, remove }: ControlsProps) {
  return (
    <>
      <select
        aria-label={`Role of ${nameOf(member)}`}
        value={member.role}
        disabled={onlyOwner || (!byOwner && member.role === 'owner') || busy}
        title={onlyOwner ? 'A workspace has at least one owner: make somebody else an owner first' : undefined}
        onChange={(e) => setRole(e.target.value as Role)}
      >
        {roles.map(({ role }) => (
          <option key={role} value={role} disabled={role === 'owner' && !byOwner}>
            {capital(role)}
          </option>
        ))}
      </select>
      <button
        className="button"
        disabled={isMe || onlyOwner}
        title={
          isMe
            ? 'You cannot remove yourself: another owner or admin can'
            : onlyOwner
              ? 'A workspace has at least one owner'
              : undefined
        }
        aria-label={`Remove ${nameOf(member)}`}
        onClick={remove}
      >
        Remove
      </button>
    </>
  )
}
