import './invitation.css'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { RequestError } from '../api/client'
import { accept, nameOf, previewQuery, type Preview } from '../api/people'
import { sessionQuery } from '../api/queries'
import { signOut, type User } from '../api/session'
import { rememberWorkspace } from '../session/workspace'
import { formatDay } from '../format'
import { Mark } from '../ui/mark'
import { Notice } from '../ui/notice'
import { dropInvitation, usedInvitation } from './token'

/** InvitationPage lets the signed-in user accept the opened invitation. */
export function InvitationPage({ token, user }: { token: string; user: User }) {
  const client = useQueryClient()
  const join = useMutation({
    mutationFn: async () => {
      const { data } = await accept(token)
      usedInvitation()
      // The name of the workspace; without it one is welcome all the same.
      const now = await client.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
      return { ...data, name: now?.workspaces?.find((w) => w.id === data.workspace_id)?.name }
    },
  })
  const { data: preview, ...query } = useQuery(previewQuery(token))
  // A closed invitation is not shown after a reload.
  const over = query.error instanceof RequestError && [404, 409].includes(query.error.status)
  useEffect(() => {
    document.title = 'Invitation · Atlas'
    if (over) usedInvitation()
  }, [over])
  // The page reloads: its state is from before.
  const enter = () => {
    if (join.data) rememberWorkspace(join.data.workspace_id)
    dropInvitation()
    location.replace('/')
  }
  return (
    <main className="standalone">
      <div className="sheet">
        <Mark />
        {join.data ? (
          <>
            <h1>Welcome</h1>
            <p>
              You are {join.data.member.role === 'admin' ? 'an admin' : 'a member'} of{' '}
              {join.data.name ? <b>{join.data.name}</b> : 'the workspace'} now.
            </p>
            <button className="button primary" onClick={enter}>
              Open the workspace
            </button>
          </>
        ) : join.error ? (
          <Refused error={join.error} user={user} enter={enter} retry={() => join.mutate()} />
        ) : query.error ? (
          <Refused error={query.error} user={user} enter={enter} retry={() => void query.refetch()} />
        ) : preview ? (
          <Offer preview={preview} user={user} busy={join.isPending} accept={() => join.mutate()} enter={enter} />
        ) : (
          <p role="status">Looking for the invitation…</p>
        )}
      </div>
    </main>
  )
}

interface OfferProps {
  preview: Preview
  user: User
  busy: boolean
  accept: () => void
  enter: () => void
}

/** Offer shows what accepting does, before it is done. */
function Offer({ preview, user, busy, accept, enter }: OfferProps) {
  const { workspace, invited_by: by, role, expires_at: end } = preview
  return (
    <>
      <h1>
        Join <bdi>{workspace.name}</bdi>
      </h1>
      <dl className="invitation">
        <div>
          <dt>Invited by</dt>
          <dd>
            {by ? (
              <>
                <bdi>{nameOf(by)}</bdi> <span className="quiet">{by.email}</span>
              </>
            ) : (
              'a program, or somebody who has left since'
            )}
          </dd>
        </div>
        <div>
          <dt>Role</dt>
          <dd>{role === 'admin' ? 'Admin: can also invite and remove members' : 'Member'}</dd>
        </div>
        <div>
          <dt>Open until</dt>
          <dd>{formatDay(end)}</dd>
        </div>
        <div>
          <dt>You</dt>
          <dd>
            <bdi>{user.email}</bdi>
          </dd>
        </div>
      </dl>
      <div className="sheet-actions">
        <button className="button primary" disabled={busy} onClick={accept}>
          Accept
        </button>
        <button className="button" disabled={busy} onClick={enter}>
          Not now
        </button>
      </div>
    </>
  )
}

interface RefusedProps {
  error: Error
  user: User
  enter: () => void
  retry: () => void
}

/** Refused explains why an invitation was not accepted, and what to do. */
function Refused({ error, user, enter, retry }: RefusedProps) {
  const { status, code, message } =
    error instanceof RequestError ? error : { status: 0, code: '', message: error.message }
  const open = (
    <button className="button" onClick={enter}>
      Open Atlas
    </button>
  )
  if (status === 404) {
    return (
      <>
        <h1>This invitation is not open any more</h1>
        <p>
          It was used or revoked, or it is older than seven days. Ask who invited you for a new link: only the latest
          one works.
        </p>
        {open}
      </>
    )
  }
  if (code === 'already_member') {
    return (
      <>
        <h1>You are a member already</h1>
        <p>There is nothing to accept.</p>
        {open}
      </>
    )
  }
  if (status === 403 && message.includes('address')) {
    return (
      <>
        <h1>This invitation is for another address</h1>
        <p>
          You are signed in as <b>{user.email}</b>. Sign in with the address that the invitation was sent to. If this is
          the one, have it verified where you sign in.
        </p>
        <div className="sheet-actions">
          <button
            className="button primary"
            // The tab still has the invitation.
            onClick={() => void signOut()}
          >
            Use another account
          </button>
          {open}
        </div>
      </>
    )
  }
  return <Notice error={error} retry={retry} />
}
