import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { createScimToken, revokeScimToken, scimTokensQuery, type ScimToken } from '../api/provisioning'
import { formatDay } from '../format'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import { lastUseText } from './key-texts'
import { NameAndLifetime } from './name-and-lifetime'
import { Secret } from './secret'

const lifetimes: [days: number, text: string][] = [
  [90, '90 days'],
  [365, 'a year'],
  [730, 'two years'],
]

/** ScimTokens are the tokens of the provider. Each is shown once. */
export function ScimTokens({ workspace }: { workspace: string }) {
  const tokens = useQuery(scimTokensQuery(workspace))
  const create = useMutation(createScimToken(workspace))
  const [name, setName] = useState('')
  const [days, setDays] = useState(365)
  const [shown, setShown] = useState<ScimToken>()
  return (
    <section aria-labelledby="tokens" className="webhook-form">
      <h2 id="tokens">Tokens</h2>
      <form
        className="actions"
        onSubmit={(e) => {
          e.preventDefault()
          create.mutate(
            { name: name.trim(), expires_in_days: days },
            {
              onSuccess: (made) => {
                setName('')
                setShown(made)
                // Only the shown text has the secret.
                create.reset()
              },
            },
          )
        }}
      >
        <NameAndLifetime
          what="token"
          lifetimeLabel="How long the token lives"
          placeholder="Which provider it is for, such as Okta"
          lifetimes={lifetimes}
          name={name}
          setName={setName}
          days={days}
          setDays={setDays}
          disabled={create.isPending}
        />
      </form>
      {create.error && <Notice error={create.error} refused="No token was made" />}
      {shown?.secret && (
        <Secret
          key={shown.secret}
          value={shown.secret}
          label="Text of the token"
          what="token"
          close={() => setShown(undefined)}
        >
          <b>
            This is the token <bdi>{shown.name}</bdi>, shown only once.
          </b>{' '}
          It is good for provisioning in this workspace and for nothing else.
        </Secret>
      )}
      {tokens.error && <Notice error={tokens.error} retry={() => void tokens.refetch()} />}
      {tokens.isPending && <div className="skeleton" style={{ height: 96 }} />}
      {tokens.data?.length === 0 && (
        <p className="quiet">There is no token yet. Make one, and give it to the provider with the address.</p>
      )}
      {tokens.data && tokens.data.length > 0 && (
        <ul className="webhooks" aria-label="Tokens">
          {tokens.data.map((t) => (
            <Token key={t.id} workspace={workspace} of={t} />
          ))}
        </ul>
      )}
    </section>
  )
}

function stateOf({ state, expires_at, revoked_at }: ScimToken): string {
  switch (state) {
    case 'active':
      return `ends ${formatDay(expires_at)}`
    case 'expired':
      return `ended ${formatDay(expires_at)}`
    case 'revoked':
      return `revoked ${revoked_at ? formatDay(revoked_at) : ''}`.trim()
  }
}

function Token({ workspace, of }: { workspace: string; of: ScimToken }) {
  const revoke = useMutation(revokeScimToken(workspace))
  const [confirming, setConfirming] = useState(false)
  return (
    <li aria-label={of.name}>
      <div className="webhook-head">
        <bdi>{of.name}</bdi>
        <span className={of.state === 'active' ? 'badge' : 'badge problem'}>{stateOf(of)}</span>
      </div>
      <p className="quiet key-facts">
        <code>{of.start}…</code> {lastUseText(of)}.
      </p>
      {of.state === 'active' && (
        <div className="actions">
          <button className="button" onClick={() => setConfirming(true)}>
            Revoke
          </button>
        </div>
      )}
      {confirming && (
        <Confirm
          title="Revoke the token?"
          action="Revoke"
          error={revoke.error}
          busy={revoke.isPending}
          close={() => setConfirming(false)}
          confirm={() =>
            revoke.mutate(of.id, {
              onSuccess: () => {
                setConfirming(false)
                notify('The token is revoked')
              },
            })
          }
        >
          <p>
            The provider that has <bdi>{of.name}</bdi> adds and takes away nobody any more until it has another. Who is
            in the workspace stays.
          </p>
        </Confirm>
      )}
    </li>
  )
}
