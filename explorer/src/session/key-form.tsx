import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { sessionQuery } from '../api/queries'
import { signInByKey } from '../api/session'
import { capital } from '../datasets'

/** KeyForm exchanges an API key for a session, in development. The page does not store the key. */
export function KeyForm({ path }: { path: string }) {
  const client = useQueryClient()
  const key = useRef<HTMLInputElement>(null)
  const exchange = useMutation({
    mutationFn: () => {
      const text = key.current?.value.trim() ?? ''
      if (key.current) key.current.value = ''
      return signInByKey(path, text)
    },
    onSuccess: (user) => client.setQueryData(sessionQuery.queryKey, user),
  })
  return (
    <form
      className="key-form"
      onSubmit={(e) => {
        e.preventDefault()
        exchange.mutate()
      }}
    >
      <label htmlFor="key">Or paste an API key (in development only)</label>
      <div className="actions">
        <input ref={key} id="key" type="password" required autoComplete="off" maxLength={200} />
        <button className="button" disabled={exchange.isPending}>
          Sign in
        </button>
      </div>
      {exchange.error && (
        <p className="problem" role="alert">
          {capital(exchange.error.message)}.
        </p>
      )}
    </form>
  )
}
