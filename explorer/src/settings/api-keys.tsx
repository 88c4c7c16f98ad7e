import { useMutation, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { apiKeysQuery, createKey, revokeKey, rotateKey, type ApiKey, type KeyScope } from '../api/api-keys'
import { membersQuery, nameOf } from '../api/people'
import { sessionQuery } from '../api/queries'
import { formatMoment, formatNumber } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import {
  goesOn,
  lives,
  makerOf,
  networksOf,
  outsideOf,
  rotates,
  scopes,
  stateOf,
  toggledScope,
  useOf,
} from './key-texts'
import { Policy } from './key-policy'
import { NameAndLife } from './name-and-life'
import { Secret } from './secret'

const KeyActions = lazy(() => import('./key-actions'))

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
            <Key key={k.id} workspace={workspace} of={k} maker={makerOf(k, people)} rotated={setShown} />
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
        <NameAndLife
          what="key"
          life="How long it lives"
          placeholder="What it is for, such as Nightly export"
          lives={lives}
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

interface KeyProps {
  workspace: string
  of: ApiKey
  maker: string
  rotated: (key: ApiKey) => void
}

function Key({ workspace, of, maker, rotated }: KeyProps) {
  const rotate = useMutation(rotateKey(workspace))
  const revoke = useMutation(revokeKey(workspace))
  const [asked, setAsked] = useState<'rotate' | 'revoke'>()
  const [hours, setHours] = useState(24)
  const [open, setOpen] = useState(false)
  const person = useQuery(sessionQuery).data?.id
  const on = goesOn(of)
  const own = rotates(person, of)
  return (
    <li aria-label={of.name}>
      <div className="webhook-head">
        <bdi>{of.name}</bdi>
        <span className={of.state === 'active' ? 'badge' : 'badge problem'}>{stateOf(of)}</span>
      </div>
      <p className="quiet key-facts">
        <code>{of.start}…</code> {useOf(of)}. Made by <bdi>{maker}</bdi>. It may {of.scopes.join(', ')}
        {of.networks.length > 0 && `, from ${of.networks.join(', ')} only`}
        {of.daily_credits !== null && `, up to ${formatNumber(of.daily_credits)} credits a day`}.
        {of.old_secret_until &&
          ` The secret before the last rotation is good until ${formatMoment(new Date(of.old_secret_until))}.`}
      </p>
      {outsideOf(of) && <p className="problem">{outsideOf(of)}.</p>}
      <div className="actions">
        {on && own && (
          <button className="button" onClick={() => setAsked('rotate')}>
            New secret
          </button>
        )}
        {of.state !== 'revoked' && (
          <button className="button" onClick={() => setAsked('revoke')}>
            Revoke
          </button>
        )}
        <button className="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          What it did
        </button>
      </div>
      {open && (
        <Suspense fallback={<div className="skeleton" style={{ height: 96 }} />}>
          <KeyActions workspace={workspace} of={of} />
        </Suspense>
      )}
      {asked === 'rotate' && (
        <Confirm
          title="Make a new secret?"
          action="Make a new secret"
          error={rotate.error}
          busy={rotate.isPending}
          close={() => setAsked(undefined)}
          confirm={() =>
            rotate.mutate(
              { id: of.id, hours },
              {
                onSuccess: (made) => {
                  setAsked(undefined)
                  rotated(made)
                  rotate.reset()
                },
              },
            )
          }
        >
          <p>
            <bdi>{of.name}</bdi> stays the same key: its scopes, its end and its networks do not change.
            {hours === 0 && ' The keys that it made end now.'}
          </p>
          <label className="networks">
            The secret of now is good
            <select className="control" value={hours} onChange={(e) => setHours(Number(e.target.value))}>
              <option value={24}>for another day</option>
              <option value={168}>for another week</option>
              <option value={0}>no longer: it leaked</option>
            </select>
          </label>
        </Confirm>
      )}
      {asked === 'revoke' && (
        <Confirm
          title="Revoke the key?"
          action="Revoke"
          error={revoke.error}
          busy={revoke.isPending}
          close={() => setAsked(undefined)}
          confirm={() =>
            revoke.mutate(of.id, {
              onSuccess: () => {
                setAsked(undefined)
                notify('The key is revoked')
              },
            })
          }
        >
          <p>
            Whoever uses <bdi>{of.name}</bdi> is refused within 5 seconds, for good, and so are the keys that it made.
            {of.by_operator && ' The operator made it: it ends in this workspace only.'}
            {!of.by_operator && !own && ' Only who made it gives it a new secret: make another in its place.'}
          </p>
        </Confirm>
      )}
    </li>
  )
}
