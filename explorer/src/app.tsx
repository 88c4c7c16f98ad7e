import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { descriptorsQuery, sessionQuery, workspaceQuery } from './api/queries'
import { signIn, takeLink } from './api/session'
import { SearchScreen } from './search/search-screen'
import { SessionOver, SignedOut } from './session/signed-out'
import { Notice } from './ui/notice'
import { Toasts } from './ui/toast'

// Taken once, before anything else reads the address.
const link = takeLink()

export function App() {
  const client = useQueryClient()
  const exchange = useMutation({
    mutationFn: signIn,
    onSuccess: (user) => client.setQueryData(sessionQuery.queryKey, user),
  })
  const { mutate, isIdle, isPending } = exchange
  useEffect(() => {
    if (link && isIdle) mutate(link)
  }, [mutate, isIdle])
  const entering = link !== undefined && (isIdle || isPending)
  const session = useQuery({ ...sessionQuery, enabled: !entering })
  // A session that ends leaves what is on the page.
  const [wasIn, setWasIn] = useState(false)
  if (session.data && !wasIn) setWasIn(true)

  if (!wasIn) {
    if (exchange.error) return <SignedOut error={exchange.error} />
    if (session.error) return <SignedOut error={session.error} />
    if (session.data === null) return <SignedOut />
    return null
  }
  return (
    <>
      <Workspace />
      <Toasts />
      {session.data === null && <SessionOver />}
    </>
  )
}

function Workspace() {
  const workspace = useQuery(workspaceQuery)
  const id = workspace.data?.id
  const descriptors = useQuery({ ...descriptorsQuery(id ?? ''), enabled: id !== undefined })
  const failed = workspace.error ?? descriptors.error
  if (failed) {
    return (
      <main className="alone">
        <Notice
          error={failed}
          retry={() => {
            void workspace.refetch()
            if (id) void descriptors.refetch()
          }}
        />
      </main>
    )
  }
  if (!workspace.data || !descriptors.data) return <div className="boot" aria-busy="true" />
  return <SearchScreen workspace={workspace.data} descriptors={descriptors.data} />
}
