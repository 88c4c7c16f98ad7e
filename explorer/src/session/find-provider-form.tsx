import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { findProvider } from '../api/session'
import { capital } from '../datasets'

/** FindProviderForm redirects people to the provider of their workspace, by the domain of their e-mail address. */
export function FindProviderForm({ path, other }: { path: string; other: boolean }) {
  const [email, setEmail] = useState('')
  const find = useMutation({
    mutationFn: () => findProvider(path, email.trim()),
    onSuccess: (at) => {
      if (at) location.assign(`${at}&return=${encodeURIComponent(location.pathname + location.search)}`)
    },
  })
  const problem = find.error
    ? `${capital(find.error.message)}.`
    : find.data === null && 'No workspace has a sign-in of its own for this domain.'
  return (
    <form
      className="key-form"
      onSubmit={(e) => {
        e.preventDefault()
        find.mutate()
      }}
    >
      <label htmlFor="email">{other ? 'Or use the sign-in of your workspace' : 'Your e-mail address at work'}</label>
      <div className="actions">
        <input
          id="email"
          type="email"
          required
          autoComplete="email"
          placeholder="you@firm.example"
          maxLength={254}
          value={email}
          onChange={(e) => {
            setEmail(e.target.value)
            find.reset()
          }}
        />
        <button className="button" disabled={find.isPending || !!find.data}>
          Continue
        </button>
      </div>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  )
}
