import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Suspense, useEffect, useState } from 'react'
import { useAddress } from './address'
import { descriptorsQuery, sessionQuery, workspaceQuery } from './api/queries'
import { signIn, signOut, takeLink, type User } from './api/session'
import { InvitationPage } from './invitation/invitation-page'
import { takeInvitation, useInvitation } from './invitation/token'
import { screenOf } from './shell/screens'
import { SessionOver, SignedOut } from './session/signed-out'
import { Notice } from './ui/notice'
import { Toasts } from './ui/toast'

// Taken once, before anything else reads the address.
const link = takeLink()
takeInvitation()

export function App() {
  const client = useQueryClient()
  // Whoever was signed in last: a session that ends leaves what is on the page.
  const [last, setLast] = useState<User>()
  const exchange = useMutation({
    mutationFn: signIn,
    onSuccess: async (user) => {
      // What is on the page is another user's.
      if (last && user?.id !== last.id) location.reload()
      client.setQueryData(sessionQuery.queryKey, user)
      await client.refetchQueries({ predicate: (q) => q.state.status === 'error' && q.isActive() })
    },
  })
  const { mutate, isIdle, isPending } = exchange
  useEffect(() => {
    if (link && isIdle) mutate(link)
  }, [mutate, isIdle])
  // A link that is opened where the page is already changes the fragment only.
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
  if (session.data && session.data.id !== last?.id) setLast(session.data)

  if (last) {
    return (
      <>
        {invitation === undefined ? <Workspace /> : <InvitationPage token={invitation} user={last} />}
        <Toasts />
        {session.data === null && <SessionOver />}
      </>
    )
  }
  if (entering) return null
  const error = exchange.error ?? session.error
  if (error) return <SignedOut error={error} />
  return session.data === null ? <SignedOut /> : null
}

function Workspace() {
  const { screen: Screen } = screenOf(useAddress().path)
  const workspace = useQuery(workspaceQuery)
  const id = workspace.data?.id
  const descriptors = useQuery({ ...descriptorsQuery(id ?? ''), enabled: id !== undefined })
  const failed = workspace.error ?? descriptors.error
  if (failed) {
    return (
      <main className="alone">
        <div className="sheet">
          <Notice
            error={failed}
            retry={() => {
              void workspace.refetch()
              if (id) void descriptors.refetch()
            }}
          />
          <button className="button" onClick={() => void signOut().then(() => location.assign('/'))}>
            Sign out
          </button>
        </div>
      </main>
    )
  }
  if (!workspace.data || !descriptors.data) return <div className="boot" aria-busy="true" />
  return (
    <Suspense fallback={<div className="boot" aria-busy="true" />}>
      <Screen workspace={workspace.data} descriptors={descriptors.data} />
    </Suspense>
  )
}
