import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { RequestError } from '../api/client'
import { sessionQuery } from '../api/queries'
import { useInvitation } from '../invitation/token'
import { Mark } from '../ui/mark'

/** SignedOut is the page of someone without a session. */
export function SignedOut({ error }: { error?: Error }) {
  const noSessions = error instanceof RequestError && error.status === 404
  return (
    <main className="alone">
      <div className="sheet">
        <Mark />
        <h1>{noSessions ? 'Signing in is not set up' : 'Sign in to Atlas'}</h1>
        {useInvitation() !== undefined && (
          <p>You are invited to a workspace. Sign in with the e-mail address that was invited, then accept.</p>
        )}
        {error && !noSessions && <p className="problem">{error.message}.</p>}
        {noSessions ? (
          <p>This server offers the API only. Its operator can turn on signing in to the Explorer.</p>
        ) : (
          <p>
            Open a sign-in link in this browser. In development, <code>scripts/dev</code> prints one at its start and{' '}
            <code>bin/atlas-dev link</code> another; each works once, for ten minutes.
          </p>
        )}
        <p>
          <a href="/docs">Documentation of the API</a>
        </p>
      </div>
    </main>
  )
}

/** SessionOver covers the page without taking anything from it. */
export function SessionOver() {
  const client = useQueryClient()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} className="sheet" aria-labelledby="over" onCancel={(e) => e.preventDefault()}>
      <h2 id="over">Your session is over</h2>
      <p>
        Nothing here is lost. Open a new sign-in link in another tab of this browser, then go on. In development{' '}
        <code>bin/atlas-dev link</code> prints one.
      </p>
      <button
        className="button primary"
        onClick={async () => {
          await client.refetchQueries({ queryKey: sessionQuery.queryKey })
          await client.invalidateQueries({ predicate: (q) => q.state.status === 'error' })
        }}
      >
        I have signed in
      </button>
    </dialog>
  )
}
