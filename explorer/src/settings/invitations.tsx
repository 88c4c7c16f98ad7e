import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { invitationsQuery, invite, revoke, type Invitation, type InvitedRole } from '../api/people'
import { RequestError, type Schemas } from '../api/client'
import { formatDay, formatMoment } from '../format'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import { Secret } from './secret'

/** Invitations invites people, and lists open invitations. */
export function Invitations({ workspace }: { workspace: string }) {
  const open = useQuery(invitationsQuery(workspace))
  const make = useMutation(invite(workspace))
  const end = useMutation(revoke(workspace))
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<InvitedRole>('member')
  const [ending, setEnding] = useState<Invitation>()
  return (
    <section className="invitations" aria-labelledby="invite">
      <h2 id="invite">Invite somebody</h2>
      <form
        className="actions"
        onSubmit={(e) => {
          e.preventDefault()
          make.mutate({ email: email.trim(), role }, { onSuccess: () => setEmail('') })
        }}
      >
        <input
          type="email"
          required
          value={email}
          onChange={(e) => setEmail(e.target.value)}
          aria-label="E-mail address"
          placeholder="name@company.com"
          maxLength={254}
        />
        <select aria-label="Role" value={role} onChange={(e) => setRole(e.target.value as InvitedRole)}>
          <option value="member">as a member</option>
          <option value="admin">as an admin</option>
        </select>
        <button className="button primary" disabled={make.isPending}>
          Invite
        </button>
      </form>
      {make.error && <Refused error={make.error} />}
      {make.data && <Link key={make.data.accept_url} made={make.data} close={() => make.reset()} />}
      {open.error && <Notice error={open.error} retry={() => void open.refetch()} />}
      {open.data && open.data.length > 0 && (
        <>
          <h2>Invited</h2>
          <ul className="people" aria-label="Invited">
            {open.data.map((i) => (
              <Invited
                key={i.id}
                invitation={i}
                busy={make.isPending}
                replace={() => make.mutate({ email: i.email, role: i.role, replace: true })}
                revoke={() => {
                  end.reset()
                  setEnding(i)
                }}
              />
            ))}
          </ul>
        </>
      )}
      {ending && (
        <Confirm
          title="Revoke the invitation?"
          action="Revoke"
          error={end.error}
          busy={end.isPending}
          close={() => setEnding(undefined)}
          confirm={() =>
            end.mutate(ending.id, {
              onSuccess: () => {
                if (make.data?.invitation.id === ending.id) make.reset()
                setEnding(undefined)
                notify(`The invitation of ${ending.email} is revoked`)
              },
            })
          }
        >
          <p>
            The link that <bdi>{ending.email}</bdi> has stops working at once.
          </p>
        </Confirm>
      )}
    </section>
  )
}

interface InvitedProps {
  invitation: Invitation
  /** An invitation is being made. */
  busy: boolean
  replace: () => void
  revoke: () => void
}

/** Invited is an open invitation in the list. */
function Invited({ invitation: { email, role, status, expires_at, sent_at }, busy, replace, revoke }: InvitedProps) {
  return (
    <li>
      <span className="who">
        <b>
          <bdi>{email}</bdi>
        </b>
        <span>
          {status === 'Expired' ? `expired on ${formatDay(expires_at)}` : `until ${formatMoment(new Date(expires_at))}`}
          {sent_at ? `, e-mail sent ${formatMoment(new Date(sent_at))}` : ''}
        </span>
      </span>
      <span className="role">{role === 'admin' ? 'Admin' : 'Member'}</span>
      <button
        className="button"
        title="The former link stops working"
        aria-label={`New link for ${email}`}
        disabled={busy}
        onClick={replace}
      >
        New link
      </button>
      <button className="button" aria-label={`Revoke the invitation of ${email}`} onClick={revoke}>
        Revoke
      </button>
    </li>
  )
}

function Refused({ error }: { error: Error }) {
  const code = error instanceof RequestError ? error.code : ''
  const text = {
    already_invited: 'This address is invited already. “New link” below makes another link.',
    already_member: 'This address is a member already.',
  }[code]
  if (!text) return <Notice error={error} refused="Nobody was invited" />
  return (
    <p className="problem" role="alert">
      {text}
    </p>
  )
}

/** Link shows the link of a new invitation, which cannot be read later. */
function Link({ made, close }: { made: Schemas['CreateInvitationData']; close: () => void }) {
  const { invitation, accept_url: link = '', letter } = made
  return (
    <Secret value={link} label="Link of the invitation" what="link" close={close}>
      <b>
        <bdi>{invitation.email}</bdi> is invited.
      </b>{' '}
      {letterText(letter)} This link is shown only once; it works until {formatMoment(new Date(invitation.expires_at))},
      for that address only.
    </Secret>
  )
}

function letterText({ status, due_at }: Schemas['CreateInvitationData']['letter']): string {
  switch (status) {
    case 'due':
      return 'An e-mail with the link is on its way.'
    case 'delayed':
      return `An e-mail with the link is sent ${due_at ? `at ${formatMoment(new Date(due_at))}` : 'later'}, because many were sent lately.`
    case 'withheld':
      return 'No e-mail is sent, because too many were sent lately: pass the link on yourself.'
    case 'none':
      return 'This server sends no e-mails: pass the link on yourself.'
  }
}
