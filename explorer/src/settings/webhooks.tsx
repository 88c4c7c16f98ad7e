import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  removeWebhook,
  rotateWebhook,
  saveWebhook,
  testWebhook,
  webhooksQuery,
  type Webhook,
  type WebhookEvent,
} from '../api/webhooks'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import { Deliveries } from './deliveries'
import { Secret } from './secret'
import { events, toggled } from './webhook-events'
import { WebhookViews } from './webhook-views'

/** Webhooks are the addresses that receive events, with the log of deliveries. */
export function Webhooks({ workspace }: ScreenProps) {
  const administers = workspace.role === 'owner' || workspace.role === 'admin'
  return (
    <>
      <header>
        <h1>Webhooks</h1>
        <p className="lead">
          Programs that Atlas notifies of events in {workspace.name}, by HTTPS.{' '}
          {!administers && 'Owners and admins see and change them.'}
        </p>
      </header>
      {administers && <Hooks workspace={workspace.id} />}
    </>
  )
}

function Hooks({ workspace }: { workspace: string }) {
  const hooks = useQuery(webhooksQuery(workspace))
  const [shown, setShown] = useState<Webhook>()
  return (
    <>
      <Add workspace={workspace} made={setShown} />
      {shown?.secret && (
        <Secret key={shown.secret} value={shown.secret} label="Secret of the webhook" close={() => setShown(undefined)}>
          <b>This is the secret of the webhook, shown only once.</b> Its receiver needs it to see that a request comes
          from Atlas. After a rotation the secret before is valid for another 24 hours.
        </Secret>
      )}
      {hooks.error && <Notice error={hooks.error} retry={() => void hooks.refetch()} />}
      {hooks.isPending && <div className="skeleton" style={{ height: 144 }} />}
      {hooks.data?.length === 0 && <p className="quiet">There is no webhook yet.</p>}
      {hooks.data && hooks.data.length > 0 && (
        <ul className="webhooks" aria-label="Webhooks">
          {hooks.data.map((h) => (
            <Hook key={h.id} workspace={workspace} hook={h} rotated={setShown} />
          ))}
        </ul>
      )}
    </>
  )
}

function Add({ workspace, made }: { workspace: string; made: (hook: Webhook) => void }) {
  const save = useMutation(saveWebhook(workspace))
  const [url, setURL] = useState('')
  const [chosen, setChosen] = useState<WebhookEvent[]>(['record.changed', 'record.deleted', 'record.merged'])
  return (
    <form
      className="webhook-form"
      onSubmit={(e) => {
        e.preventDefault()
        save.mutate(
          { url: url.trim(), events: chosen },
          {
            onSuccess: (hook) => {
              setURL('')
              made(hook)
            },
          },
        )
      }}
    >
      <div className="actions">
        <input
          type="url"
          required
          value={url}
          onChange={(e) => setURL(e.target.value)}
          aria-label="Address of the webhook"
          placeholder="https://hooks.company.com/atlas"
          maxLength={2000}
        />
        <button className="button primary" disabled={save.isPending || chosen.length === 0}>
          Add a webhook
        </button>
      </div>
      <Events label="Notify it when" chosen={chosen} change={(event) => setChosen(toggled(chosen, event))} />
      {save.error && <Notice error={save.error} refused="The webhook is not added" />}
    </form>
  )
}

interface EventsProps {
  label: string
  chosen: WebhookEvent[]
  change: (event: WebhookEvent) => void
}

function Events({ label, chosen, change }: EventsProps) {
  return (
    <fieldset className="events">
      <legend>{label}</legend>
      {events.map(([event, text]) => {
        const on = chosen.includes(event)
        return (
          <label key={event}>
            {/* The last one cannot be removed: delete the webhook instead. */}
            <input type="checkbox" checked={on} disabled={on && chosen.length === 1} onChange={() => change(event)} />
            <span>{text}</span>
          </label>
        )
      })}
    </fieldset>
  )
}

interface HookProps {
  workspace: string
  hook: Webhook
  rotated: (hook: Webhook) => void
}

function Hook({ workspace, hook, rotated }: HookProps) {
  const save = useMutation(saveWebhook(workspace))
  const test = useMutation(testWebhook(workspace))
  const rotate = useMutation(rotateWebhook(workspace))
  // By then the row is removed.
  const remove = useMutation({ ...removeWebhook(workspace), onSuccess: () => notify('The webhook is deleted') })
  const [confirming, setConfirming] = useState<'rotate' | 'remove'>()
  const [open, setOpen] = useState(false)
  const error = save.error ?? test.error
  const chosen = save.isPending ? save.variables.events : hook.events
  const named = (save.isPending ? save.variables.view_ids : undefined) ?? hook.view_ids
  const set = (next: WebhookEvent[], views = named) =>
    save.mutate(
      { id: hook.id, url: hook.url, events: next, view_ids: views },
      { onSuccess: () => notify('The webhook is saved') },
    )
  return (
    <li aria-label={hook.url}>
      <div className="webhook-head">
        <bdi>{hook.url}</bdi>
        <span className={hook.enabled ? 'badge' : 'badge problem'}>{hook.enabled ? 'Enabled' : 'Disabled'}</span>
      </div>
      {!hook.enabled && (
        <p className="problem">
          It gets no events, because its receiver failed for 24 hours or is gone.{' '}
          <button className="button" disabled={save.isPending} onClick={() => set(hook.events)}>
            Enable it
          </button>
        </p>
      )}
      <Events label="Is notified when" chosen={chosen} change={(event) => set(toggled(chosen, event))} />
      {chosen.includes('view.matched') && (
        <WebhookViews workspace={workspace} named={hook.views} chosen={named} change={(views) => set(chosen, views)} />
      )}
      {error && <Notice error={error} refused="Nothing was changed" />}
      <div className="actions">
        <button
          className="button"
          disabled={test.isPending}
          onClick={() => test.mutate(hook.id, { onSuccess: () => setOpen(true) })}
        >
          Send a test
        </button>
        <button className="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          Deliveries
        </button>
        <button className="button" onClick={() => setConfirming('rotate')}>
          New secret
        </button>
        <button className="button" onClick={() => setConfirming('remove')}>
          Delete
        </button>
      </div>
      {open && <Deliveries workspace={workspace} hook={hook} />}
      {confirming === 'rotate' && (
        <Confirm
          title="Make a new secret?"
          action="Make a new secret"
          error={rotate.error}
          busy={rotate.isPending}
          close={() => setConfirming(undefined)}
          confirm={() =>
            rotate.mutate(hook.id, {
              onSuccess: (made) => {
                setConfirming(undefined)
                rotated(made)
              },
            })
          }
        >
          <p>Requests are signed with both for 24 hours, then with the new one alone.</p>
        </Confirm>
      )}
      {confirming === 'remove' && (
        <Confirm
          title="Delete the webhook?"
          action="Delete"
          error={remove.error}
          busy={remove.isPending}
          close={() => setConfirming(undefined)}
          confirm={() => remove.mutate(hook.id)}
        >
          <p>
            <bdi>{hook.url}</bdi> gets no more events, and the log of its deliveries is gone.
          </p>
        </Confirm>
      )}
    </li>
  )
}
