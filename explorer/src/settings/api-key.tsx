import { useMutation, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { revokeKey, rotateKey, type ApiKey } from '../api/api-keys'
import { sessionQuery } from '../api/queries'
import { formatMoment, formatNumber } from '../format'
import { notify } from '../ui/toast'
import { Confirm, type Confirmation } from './confirm'
import { isUsable, outsideOf, canRotate, stateOf, lastUseText } from './key-texts'

const KeyActions = lazy(() => import('./key-actions'))

interface Props {
  workspace: string
  of: ApiKey
  creator: string
  rotated: (key: ApiKey) => void
}

/** Key shows an API key, what it did, and what can be done with it. */
export function Key({ workspace, of, creator, rotated }: Props) {
  const rotate = useMutation(rotateKey(workspace))
  const revoke = useMutation(revokeKey(workspace))
  const [confirming, setConfirming] = useState<'rotate' | 'revoke'>()
  const [hours, setHours] = useState(24)
  const [open, setOpen] = useState(false)
  const person = useQuery(sessionQuery).data?.id
  const own = canRotate(person, of)
  const close = () => setConfirming(undefined)
  return (
    <li aria-label={of.name}>
      <div className="webhook-head">
        <bdi>{of.name}</bdi>
        <span className={of.state === 'active' ? 'badge' : 'badge problem'}>{stateOf(of)}</span>
      </div>
      <p className="quiet key-facts">
        <code>{of.start}…</code> {lastUseText(of)}. Made by <bdi>{creator}</bdi>. It may {of.scopes.join(', ')}
        {of.networks.length > 0 && `, from ${of.networks.join(', ')} only`}
        {of.daily_credits !== null && `, up to ${formatNumber(of.daily_credits)} credits a day`}.
        {of.old_secret_until &&
          ` The secret before the last rotation is good until ${formatMoment(new Date(of.old_secret_until))}.`}
      </p>
      {outsideOf(of) && <p className="problem">{outsideOf(of)}.</p>}
      <div className="actions">
        {isUsable(of) && own && (
          <button className="button" onClick={() => setConfirming('rotate')}>
            New secret
          </button>
        )}
        {of.state !== 'revoked' && (
          <button className="button" onClick={() => setConfirming('revoke')}>
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
      {confirming === 'rotate' && (
        <Rotation
          of={of}
          hours={hours}
          setHours={setHours}
          error={rotate.error}
          busy={rotate.isPending}
          close={close}
          confirm={() =>
            rotate.mutate(
              { id: of.id, hours },
              {
                onSuccess: (made) => {
                  close()
                  rotated(made)
                  rotate.reset()
                },
              },
            )
          }
        />
      )}
      {confirming === 'revoke' && (
        <Revocation
          of={of}
          own={own}
          error={revoke.error}
          busy={revoke.isPending}
          close={close}
          confirm={() =>
            revoke.mutate(of.id, {
              onSuccess: () => {
                close()
                notify('The key is revoked')
              },
            })
          }
        />
      )}
    </li>
  )
}

interface RotationProps extends Confirmation {
  of: ApiKey
  /** How long the secret of now stays good. */
  hours: number
  setHours: (hours: number) => void
}

/** Rotation asks before a key gets a new secret. */
function Rotation({ of, hours, setHours, ...confirmation }: RotationProps) {
  return (
    <Confirm title="Make a new secret?" action="Make a new secret" {...confirmation}>
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
  )
}

/** Revocation asks before a key ends. */
function Revocation({ of, own, ...confirmation }: Confirmation & { of: ApiKey; own: boolean }) {
  return (
    <Confirm title="Revoke the key?" action="Revoke" {...confirmation}>
      <p>
        Whoever uses <bdi>{of.name}</bdi> is refused within 5 seconds, for good, and so are the keys that it made.
        {of.by_operator && ' The operator made it: it ends in this workspace only.'}
        {!of.by_operator && !own && ' Only who made it gives it a new secret: make another in its place.'}
      </p>
    </Confirm>
  )
}
