import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { membersQuery, nameOf, removeMember, setRole, type Member, type Role } from '../api/people'
import { sessionQuery } from '../api/queries'
import { capital } from '../datasets'
import { formatDay } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import { Invitations } from './invitations'

const roles: { role: Role; may: string }[] = [
  { role: 'owner', may: 'can do everything, and alone can make others owners' },
  { role: 'admin', may: 'can also invite people, change their roles and remove them' },
  { role: 'member', may: 'can search, and work on the book and the Views' },
]

export function Members({ workspace }: ScreenProps) {
  const me = useQuery(sessionQuery).data?.id
  const members = useQuery(membersQuery(workspace.id))
  const [leaving, setLeaving] = useState<Member>()
  // The member whose role changes to member.
  const [demoted, setDemoted] = useState<Member>()
  const change = useMutation(setRole(workspace.id))
  const remove = useMutation(removeMember(workspace.id))
  const mine = workspace.role
  const administers = mine === 'owner' || mine === 'admin'
  const owners = members.data?.filter((m) => m.role === 'owner').length ?? 0
  const onlyOwner = (m: Member) => m.role === 'owner' && owners === 1
  const set = (m: Member, role: Role) =>
    change.mutate(
      { id: m.id, role },
      {
        onSuccess: () =>
          notify(`${nameOf(m)} is ${article(role)} now`, () => change.mutateAsync({ id: m.id, role: m.role })),
      },
    )
  return (
    <>
      <header>
        <h1>Members</h1>
        <p className="lead">
          Who works in {workspace.name}. {!administers && 'Owners and admins change who that is.'}
        </p>
      </header>
      {change.error && <Notice error={change.error} refused="The role is not changed" />}
      {members.error && <Notice error={members.error} retry={() => void members.refetch()} />}
      {members.isPending && <div className="skeleton" style={{ height: 144 }} />}
      {members.data && (
        <ul className="people" aria-label="Members">
          {members.data.map((m) => (
            <li key={m.id}>
              <span className="who">
                <b>
                  <bdi>{nameOf(m)}</bdi>
                  {m.id === me && <span className="badge">You</span>}
                </b>
                <bdi>{m.email}</bdi>
              </span>
              <span className="quiet since">since {formatDay(m.joined_at)}</span>
              {administers ? (
                <select
                  aria-label={`Role of ${nameOf(m)}`}
                  value={m.role}
                  disabled={onlyOwner(m) || (mine !== 'owner' && m.role === 'owner') || change.isPending}
                  title={
                    onlyOwner(m) ? 'A workspace has at least one owner: make somebody else an owner first' : undefined
                  }
                  onChange={(e) => {
                    const role = e.target.value as Role
                    if (role === 'member') setDemoted(m)
                    else set(m, role)
                  }}
                >
                  {roles.map(({ role }) => (
                    <option key={role} value={role} disabled={role === 'owner' && mine !== 'owner'}>
                      {capital(role)}
                    </option>
                  ))}
                </select>
              ) : (
                <span className="role">{capital(m.role)}</span>
              )}
              {administers && (
                <button
                  className="button"
                  disabled={m.id === me || onlyOwner(m)}
                  title={
                    m.id === me
                      ? 'You cannot remove yourself: another owner or admin can'
                      : onlyOwner(m)
                        ? 'A workspace has at least one owner'
                        : undefined
                  }
                  aria-label={`Remove ${nameOf(m)}`}
                  onClick={() => {
                    remove.reset()
                    setLeaving(m)
                  }}
                >
                  Remove
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {members.data && administers && (
        <p className="quiet notes">
          {roles.map(({ role, may }) => (
            <span key={role}>
              <b>{capital(role)}</b> {may}.{' '}
            </span>
          ))}
          {onlyOwnerIsMe(members.data, me, owners)
            ? 'You are the only owner: to leave, make somebody else an owner, who can then remove you.'
            : 'To leave, ask another owner or admin to remove you.'}
        </p>
      )}
      {administers && <Invitations workspace={workspace.id} />}
      {demoted && (
        <Confirm
          title={`Make ${nameOf(demoted)} a member?`}
          action="Make a member"
          error={null}
          busy={change.isPending}
          close={() => setDemoted(undefined)}
          confirm={() => {
            set(demoted, 'member')
            setDemoted(undefined)
          }}
        >
          <p>
            <bdi>{demoted.email}</bdi> administers nothing any more. The API keys that they made end, for good.
          </p>
        </Confirm>
      )}
      {leaving && (
        <Confirm
          title={`Remove ${nameOf(leaving)}?`}
          action="Remove"
          error={remove.error}
          busy={remove.isPending}
          close={() => setLeaving(undefined)}
          confirm={() =>
            remove.mutate(leaving.id, {
              onSuccess: () => {
                setLeaving(undefined)
                notify(`${nameOf(leaving)} is removed`)
              },
            })
          }
        >
          <p>
            <bdi>{leaving.email}</bdi> loses access within five seconds, in open pages too. What they added to the book
            and the Views stays; their Favorites are deleted, and the API keys that they made end. They can come back by
            a new invitation.
          </p>
        </Confirm>
      )}
    </>
  )
}
const article = (role: Role) => (role === 'member' ? 'a member' : `an ${role}`)
const onlyOwnerIsMe = (all: Member[], me: string | undefined, owners: number) =>
  owners === 1 && all.some((m) => m.id === me && m.role === 'owner')
