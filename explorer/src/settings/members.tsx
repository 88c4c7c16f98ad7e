import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { membersQuery, nameOf, removeMember, setRole, type Member, type Role } from '../api/people'
import { sessionQuery } from '../api/queries'
import { capital } from '../datasets'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm, type Confirmation } from './confirm'
import { Invitations } from './invitations'
import { MemberControls, MemberRow, roles } from './member-row'

/** Members are who works in the workspace, and who is invited to it. */
export function Members({ workspace }: ScreenProps) {
  const me = useQuery(sessionQuery).data?.id
  const members = useQuery(membersQuery(workspace.id))
  const [leaving, setLeaving] = useState<Member>()
  // The member whose role changes to member.
  const [demoted, setDemoted] = useState<Member>()
  const change = useMutation(setRole(workspace.id))
  const remove = useMutation(removeMember(workspace.id))
  const byOwner = workspace.role === 'owner'
  const administers = byOwner || workspace.role === 'admin'
  const owners = members.data?.filter((m) => m.role === 'owner') ?? []
  const onlyOwner = owners.length === 1 ? owners[0] : undefined
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
            <MemberRow key={m.id} member={m} isMe={m.id === me}>
              {administers ? (
                <MemberControls
                  member={m}
                  isMe={m.id === me}
                  onlyOwner={m === onlyOwner}
                  byOwner={byOwner}
                  busy={change.isPending}
                  setRole={(role) => (role === 'member' ? setDemoted(m) : set(m, role))}
                  remove={() => {
                    remove.reset()
                    setLeaving(m)
                  }}
                />
              ) : (
                <span className="role">{capital(m.role)}</span>
              )}
            </MemberRow>
          ))}
        </ul>
      )}
      {members.data && administers && <Notes onlyOwnerIsMe={onlyOwner !== undefined && onlyOwner.id === me} />}
      {administers && <Invitations workspace={workspace.id} />}
      {demoted && (
        <Demotion
          of={demoted}
          error={null}
          busy={change.isPending}
          close={() => setDemoted(undefined)}
          confirm={() => {
            set(demoted, 'member')
            setDemoted(undefined)
          }}
        />
      )}
      {leaving && (
        <Removal
          of={leaving}
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
        />
      )}
    </>
  )
}

const article = (role: Role) => (role === 'member' ? 'a member' : `an ${role}`)

/** Notes say what each role may do, and how to leave. */
function Notes({ onlyOwnerIsMe }: { onlyOwnerIsMe: boolean }) {
  return (
    <p className="quiet notes">
      {roles.map(({ role, may }) => (
        <span key={role}>
          <b>{capital(role)}</b> {may}.{' '}
        </span>
      ))}
      {onlyOwnerIsMe
        ? 'You are the only owner: to leave, make somebody else an owner, who can then remove you.'
        : 'To leave, ask another owner or admin to remove you.'}
    </p>
  )
}

/** Demotion asks before somebody who administers becomes a member. */
function Demotion({ of, ...confirmation }: Confirmation & { of: Member }) {
  return (
    <Confirm title={`Make ${nameOf(of)} a member?`} action="Make a member" {...confirmation}>
      <p>
        <bdi>{of.email}</bdi> administers nothing any more. The API keys that they made end, for good.
      </p>
    </Confirm>
  )
}

/** Removal asks before a member is removed. */
function Removal({ of, ...confirmation }: Confirmation & { of: Member }) {
  return (
    <Confirm title={`Remove ${nameOf(of)}?`} action="Remove" {...confirmation}>
      <p>
        <bdi>{of.email}</bdi> loses access within five seconds, in open pages too. What they added to the book and the
        Views stays; their Favorites are deleted, and the API keys that they made end. They can come back by a new
        invitation.
      </p>
    </Confirm>
  )
}
