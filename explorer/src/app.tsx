import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Suspense, useEffect, useLayoutEffect, useState } from 'react'
import { go, setStickyParameter, useAddress } from './address'
import { setRequestUser, setRequestWorkspace, RequestError } from './api/client'
import { descriptorsQuery, sessionQuery, workspaceQuery } from './api/queries'
import { signIn, takeFailure, takeLink, type User } from './api/session'
import { InvitationPage } from './invitation/invitation-page'
import { takeInvitation, useInvitation } from './invitation/token'
import { UnsavedEdits } from './record/unsaved-edits'
import { Overlays } from './palette/overlays'
import { components } from './screens'
import { screenOf } from './shell/screens'
import { NoWorkspace } from './session/no-workspace'
import { SignOut } from './session/sign-out'
import { OtherUser, SessionEnded, SignedOut, Unreachable } from './session/signed-out'
import { choose, parameter, rememberWorkspace, shortOf } from './session/workspace'
import { takeReturnAddress } from './session/return-address'
import { Notice } from './ui/notice'
import { Toasts } from './ui/toast'

// Taken once, before anything else reads the address.
const link = takeLink()
const failure = takeFailure()
takeInvitation()

export function App() {
  const client = useQueryClient()
  // The last signed-in user: after the end of a session the page stays as it is.
  const [last, setLast] = useState<User>()
  const exchange = useMutation({
    mutationFn: signIn,
    onSuccess: async (user) => {
      if (last && user && user.id !== last.id) location.reload()
      client.setQueryData(sessionQuery.queryKey, user)
      const returnAddress = takeReturnAddress()
      if (returnAddress !== undefined) go(returnAddress, { replace: true })
      await client.refetchQueries({ predicate: (q) => q.state.status === 'error' && q.isActive() })
    },
  })
  const { mutate, isIdle, isPending } = exchange
  useEffect(() => {
    if (link && isIdle) mutate(link)
  }, [mutate, isIdle])
  // Opening a link in an open page changes only the fragment.
  useEffect(() => {
    const listen = () => {
      const token = takeLink()
      if (token) mutate(token)
      takeInvitation()
    }
    addEventListener('hashchange', listen)
    return () => removeEventListener('hashchange', listen)
  }, [mutate])
  const invitation = useInvitation()
  const entering = isPending || (link !== undefined && isIdle)
  const session = useQuery({ ...sessionQuery, enabled: !entering })
  const user = session.data
  if (user && user !== last && (!last || user.id === last.id)) setLast(user)
  // Before any request of the page.
  useLayoutEffect(() => {
    if (last) setRequestUser(last.id)
  }, [last])

  if (last) {
    return (
      <>
        {invitation === undefined ? (
          <Workspace user={last} retry={() => void session.refetch()} />
        ) : (
          <InvitationPage token={invitation} user={last} />
        )}
        <UnsavedEdits />
        <Toasts />
        {session.data === null && <SessionEnded />}
        {user && user.id !== last.id && <OtherUser user={user} last={last} />}
      </>
    )
  }
  if (entering) return null
  const { error } = session
  if (error && !(error instanceof RequestError && error.status === 404))
    return <Unreachable error={error} retry={() => void session.refetch()} />
  if (exchange.error ?? error) return <SignedOut error={exchange.error ?? error ?? undefined} />
  return session.data === null ? <SignedOut failure={failure} /> : null
}

function Workspace({ user, retry }: { user: User; retry: () => void }) {
  const { path, search } = useAddress()
  const Screen = components[screenOf(path).path]
  const memberships = user.workspaces
  const chosen = memberships && choose(memberships, search)
  // Before any request of this page or of a part of it.
  useLayoutEffect(() => {
    if (!memberships || !chosen) return
    setRequestWorkspace(chosen.id)
    rememberWorkspace(chosen.id)
    if (memberships.length > 1) setStickyParameter(parameter, shortOf(chosen.id, memberships))
  }, [memberships, chosen])
  const missing = memberships && !chosen
  const workspace = useQuery({ ...workspaceQuery, enabled: !missing })
  const id = workspace.data?.id
  const descriptors = useQuery({ ...descriptorsQuery(id ?? ''), enabled: id !== undefined })
  if (missing) return <NoWorkspace user={user} retry={retry} />
  const failed = workspace.error ?? descriptors.error
  if (failed) {
    return (
      <main className="standalone">
        <div className="sheet">
          <Notice
            standalone
            error={failed}
            retry={() => {
              retry()
              void workspace.refetch()
              if (id) void descriptors.refetch()
            }}
          />
          <SignOut />
        </div>
      </main>
    )
  }
  const waits = workspace.failureReason ?? descriptors.failureReason
  if (!workspace.data || !descriptors.data) {
    if (!waits) return <div className="boot" aria-busy="true" />
    // It is retried when the service asks for it.
    return (
      <main className="standalone" aria-busy="true">
        <div className="sheet">
          <Notice standalone error={waits} />
        </div>
      </main>
    )
  }
  return (
    <Suspense fallback={<div className="boot" aria-busy="true" />}>
      <Screen workspace={workspace.data} descriptors={descriptors.data} />
      <Overlays workspace={workspace.data} descriptors={descriptors.data} />
    </Suspense>
  )
}
