import './session.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { RequestError } from '../api/client'
import { sessionQuery, signInQuery } from '../api/queries'
import type { User } from '../api/session'
import { useInvitation } from '../invitation/token'
import { Dialog } from '../ui/dialog'
import { Mark } from '../ui/mark'
import { KeyForm } from './key-form'
import { FindProviderForm } from './find-provider-form'
import { SignOut } from './sign-out'
import { storeReturnAddress } from './return-address'
import { Notice } from '../ui/notice'

/** failures explain why signing in at the provider failed (service/oidc, Failure). */
const failures: Record<string, string> = {
  declined: 'Signing in was cancelled, or your organization did not allow it.',
  expired: 'This sign-in took too long, or was continued in another tab. Try again.',
  away: 'The sign-in service of your organization does not answer right now. Try again in a minute.',
  refused:
    'Atlas could not use what the sign-in service answered. Try again; if that does not help, tell your administrator.',
}

/** SignedOut is the page without a session. */
export function SignedOut({ error, failure }: { error?: Error; failure?: string }) {
  useEffect(storeReturnAddress, [])
  const options = useQuery(signInQuery)
  const invitation = useInvitation()
  const noSessions = error instanceof RequestError && error.status === 404
  const problem =
    failure === undefined ? !noSessions && error && `${error.message}.` : (failures[failure] ?? failures.refused)
  if (!noSessions && options.isPending) return null
  return (
    <main className="standalone">
      <div className="sheet">
        <Mark />
        <h1>{noSessions ? 'Signing in is not set up' : 'Sign in to Atlas'}</h1>
        {invitation !== undefined && (
          <p>You are invited to a workspace. Sign in with the e-mail address that was invited, then accept.</p>
        )}
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        {noSessions ? (
          <p>This server offers the API only. Its operator can turn on signing in to the Explorer.</p>
        ) : options.data?.provider ? (
          <>
            <p>Use the account of your organization. You come back to where you are now.</p>
            <a className="button primary wide" href={signInAddress(options.data.provider)}>
              Sign in
            </a>
          </>
        ) : options.data?.own && !options.data.key ? null : (
          <p>
            Open a sign-in link in this browser. In development, <code>scripts/dev</code> prints one at its start and{' '}
            <code>bin/atlas-dev link</code> another; each works once, for ten minutes.
          </p>
        )}
        {!noSessions && options.data?.own && (
          <FindProviderForm path={options.data.own} other={!!options.data.provider} />
        )}
        {options.data?.key && <KeyForm path={options.data.key} />}
        <p>
          <a href="/docs">Documentation of the API</a>
        </p>
      </div>
    </main>
  )
}

const signInAddress = (path: string, back = location.pathname + location.search) =>
  `${path}?return=${encodeURIComponent(back)}`

/** Unreachable is the page while Atlas cannot say whether the user is signed in. */
export function Unreachable({ error, retry }: { error: Error; retry: () => void }) {
  return (
    <main className="standalone">
      <div className="sheet">
        <Mark />
        <Notice error={error} retry={retry} />
        {error instanceof RequestError && error.status === 403 && <SignOut />}
      </div>
    </main>
  )
}

/** SessionEnded covers the page, whose state stays. */
export function SessionEnded() {
  const client = useQueryClient()
  const options = useQuery(signInQuery)
  const recheckSession = async () => {
    await client.refetchQueries({ queryKey: sessionQuery.queryKey })
    await client.invalidateQueries({ predicate: (q) => q.state.status === 'error' })
  }
  return (
    <Dialog title="Your session is over" onClose={undefined}>
      {options.data?.provider ? (
        <p>
          Nothing here is lost.{' '}
          <a href={signInAddress(options.data.provider, '/')} target="_blank" rel="noreferrer">
            Sign in in a new tab
          </a>
          , then come back and go on.
        </p>
      ) : (
        <p>
          Nothing here is lost. Open a new sign-in link in another tab of this browser, then go on. In development{' '}
          <code>bin/atlas-dev link</code> prints one.
        </p>
      )}
      <button className="button primary" onClick={() => void recheckSession()}>
        I have signed in
      </button>
    </Dialog>
  )
}

/** OtherUser covers the page of one user when another tab has signed in somebody else. */
export function OtherUser({ user, last }: { user: User; last: User }) {
  const nameOf = ({ name, email }: User) => <b>{name || email}</b>
  return (
    <Dialog title="Another tab has signed somebody else in" onClose={undefined}>
      <p>
        This page is of {nameOf(last)}, but this browser is signed in as {nameOf(user)} now. Nothing more of this page
        is saved or paid.
      </p>
      <p>To keep what is here, sign in as {nameOf(last)} again in another tab and come back.</p>
      <button className="button primary" onClick={() => location.reload()}>
        Open this page as {user.name || user.email}
      </button>
    </Dialog>
  )
}
