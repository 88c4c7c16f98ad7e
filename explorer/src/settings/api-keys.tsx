import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { apiKeysQuery, createKey, type ApiKey, type KeyScope } from '../api/api-keys'
import { membersQuery, nameOf } from '../api/people'
import { formatMoment } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { Key } from './api-key'
import { lifetimes, creatorOf, networksOf, scopes, toggledScope } from './key-texts'
import { Policy } from './key-policy'
import { NameAndLifetime } from './name-and-lifetime'
import { Secret } from './secret'

/** ApiKeys are the keys with which programs act in the workspace. */
export function ApiKeys({ workspace }: ScreenProps) {
  const administers = workspace.role === 'owner' || workspace.role === 'admin'
  return (
    <>
      <header>
        <h1>API keys</h1>
        <p className="lead">
          Programs use them in place of a person. {!administers && 'Owners and admins see and make them.'}
        </p>
      </header>
      {administers && <Keys workspace={workspace.id} />}
    </>
  )
}

function Keys({ workspace }: { workspace: string }) {
  const keys = useQuery(apiKeysQuery(workspace))
  const members = useQuery(membersQuery(workspace))
  const people = new Map(members.data?.map((m) => [m.id, nameOf(m)]))
  const [shown, setShown] = useState<ApiKey>()
  return (
    <>
      <Policy workspace={workspace} />
      <Add workspace={workspace} made={setShown} />
      {shown?.secret && (
        <Secret key={shown.secret} value={shown.secret} label="Secret of the key" close={() => setShown(undefined)}>
          <b>
            This is the key <bdi>{shown.name}</bdi>, shown only once.
          </b>{' '}
          Keep it where others cannot read it.
          {shown.old_secret_until && ` The one before is good until ${formatMoment(new Date(shown.old_secret_until))}.`}
        </Secret>
      )}
      {keys.error && <Notice error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isPending && <div className="skeleton" style={{ height: 144 }} />}
      {keys.data?.length === 0 && <p className="quiet">There is no key yet.</p>}
      {keys.data && keys.data.length > 0 && (
        <ul className="webhooks" aria-label="API keys">
          {keys.data.map((k) => (
            <Key key={k.id} workspace={workspace} of={k} creator={creatorOf(k, people)} rotated={setShown} />
          ))}
        </ul>
      )}
    </>
  )
}

function Add({ workspace, made }: { workspace: string; made: (key: ApiKey) => void }) {
  const create = useMutation(createKey(workspace))
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<KeyScope[]>(['data:read'])
  const [days, setDays] = useState(90)
  const [networks, setNetworks] = useState('')
  return (
    <form
      className="webhook-form"
      onSubmit={(e) => {
        e.preventDefault()
        const end = days === 0 ? { never_expires: true } : { expires_in_days: days }
        create.mutate(
          { name: name.trim(), scopes: chosen, networks: networksOf(networks), ...end },
          {
            onSuccess: (key) => {
              setName('')
              setNetworks('')
              made(key)
              // Only the shown text has the secret.
              create.reset()
            },
          },
        )
      }}
    >
      <div className="actions">
        <NameAndLifetime
          what="key"
          lifetimeLabel="How long it lives"
          placeholder="What it is for, such as Nightly export"
          lifetimes={lifetimes}
          name={name}
          setName={setName}
          days={days}
          setDays={setDays}
          disabled={create.isPending || chosen.length === 0}
        />
      </div>
      <fieldset className="events">
        <legend>It may</legend>
        {scopes.map(([scope, text]) => {
          const on = chosen.includes(scope)
          return (
            <label key={scope}>
              <input
                type="checkbox"
                checked={on}
                disabled={on && chosen.length === 1}
                onChange={() => setChosen(toggledScope(chosen, scope))}
              />
              <span>{text}</span>
            </label>
          )
        })}
      </fieldset>
      <label className="networks">
        Only from these networks, if any
        <input
          type="text"
          value={networks}
          onChange={(e) => setNetworks(e.target.value)}
          placeholder="203.0.113.0/24, 2001:db8::/48"
          maxLength={1000}
        />
      </label>
      {create.error && <Notice error={create.error} refused="No key was made" />}
    </form>
  )
}
