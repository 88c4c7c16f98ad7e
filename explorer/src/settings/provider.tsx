import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { domainsQuery, providerQuery, removeProvider, setProvider, type Provider } from '../api/identity'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import { ProviderEditor } from './provider-editor'
import { changeOf, factsOf, formOf } from './provider-texts'
import { LabelledCopyField } from './labelled-copy-field'

interface Props {
  workspace: string
  owner: boolean
}

/** OwnProvider is the OpenID provider of a workspace. Only owners set it: it decides who owners are. */
export function OwnProvider({ workspace, owner }: Props) {
  const settings = useQuery(providerQuery(workspace))
  const domains = useQuery(domainsQuery(workspace))
  const [editing, setEditing] = useState(false)
  const provider = settings.data?.provider
  const redirect = settings.data?.redirect_uri
  const proved = domains.data?.some((d) => d.proved_at) ?? true
  return (
    <section aria-labelledby="provider" className="webhook-form">
      <h2 id="provider">Provider</h2>
      {settings.error && <Notice error={settings.error} retry={() => void settings.refetch()} />}
      {settings.isPending && <div className="skeleton" style={{ height: 96 }} />}
      {settings.data && !redirect && (
        <p className="warning">
          This service has no public address, so nobody signs in to it. Who runs Atlas for you can set one.
        </p>
      )}
      {settings.data && !provider && !editing && (
        <p className="quiet">
          There is no provider yet: people sign in as this installation lets them.{' '}
          {owner ? 'Register Atlas at yours, then connect it here.' : 'An owner connects one.'}
        </p>
      )}
      {redirect && (owner || provider) && (
        <div className="copy-field">
          <LabelledCopyField label="Redirect address that the provider is to permit" value={redirect} />
        </div>
      )}
      {provider && !proved && (
        <p className="warning">No domain is proved, so the provider lets nobody in yet. Prove one above.</p>
      )}
      {provider && !editing && (
        <>
          <dl className="facts">
            {factsOf(provider).map(([name, value]) => (
              <div key={name} style={{ display: 'contents' }}>
                <dt>{name}</dt>
                <dd>
                  <bdi>{value}</bdi>
                </dd>
              </div>
            ))}
          </dl>
          <Required workspace={workspace} of={provider} owner={owner} />
        </>
      )}
      {editing ? (
        <ProviderEditor workspace={workspace} before={provider ?? null} close={() => setEditing(false)} />
      ) : (
        owner &&
        settings.data && (
          <div className="actions">
            <button className={provider ? 'button' : 'button primary'} onClick={() => setEditing(true)}>
              {provider ? 'Change the provider' : 'Connect a provider'}
            </button>
            {provider && <Remove workspace={workspace} />}
          </div>
        )
      )}
    </section>
  )
}

/** Required switches between the provider as one way of signing in and as the only one. */
function Required({ workspace, of, owner }: { workspace: string; of: Provider; owner: boolean }) {
  const set = useMutation(setProvider(workspace))
  const [confirming, setConfirming] = useState(false)
  const on = of.required
  return (
    <>
      <p>
        <b>{on ? 'Required.' : 'Not required.'}</b>{' '}
        {on
          ? 'People act in this workspace only in sessions of this provider.'
          : 'People get in by it and by every other way of signing in that they have.'}
      </p>
      {owner && (
        <div className="actions">
          <button
            className="button"
            onClick={() => {
              set.reset()
              setConfirming(true)
            }}
          >
            {on ? 'Require it no longer' : 'Require it'}
          </button>
        </div>
      )}
      {confirming && (
        <Confirm
          title={on ? 'Let people in by other ways too?' : 'Let people in by this provider only?'}
          action={on ? 'Require it no longer' : 'Require it'}
          error={null}
          busy={set.isPending}
          close={() => setConfirming(false)}
          confirm={() =>
            set.mutate(changeOf(formOf(of), of, !on), {
              onSuccess: () => {
                setConfirming(false)
                notify(on ? 'The provider is required no longer' : 'The provider is required')
              },
            })
          }
        >
          {on ? (
            <p>Members get in again by the provider of this installation, access tokens and links of the operator.</p>
          ) : (
            <>
              <p>
                Within 5 seconds every other session and access token of this workspace is refused, for everybody, and
                leads to this provider. API keys and provisioning go on. While it is required, its issuer, client,
                secret, scopes and claim cannot be changed.
              </p>
              <p>
                It works only in a session that began by this provider after its last change, so that you do not lock
                yourself out. When the provider is down, who runs Atlas for you can open the workspace.
              </p>
            </>
          )}
          {set.error && <Notice error={set.error} refused={on ? 'It is still required' : 'It is not required'} />}
        </Confirm>
      )}
    </>
  )
}

function Remove({ workspace }: { workspace: string }) {
  // By then the button is removed.
  const remove = useMutation({ ...removeProvider(workspace), onSuccess: () => notify('The provider is deleted') })
  const [confirming, setConfirming] = useState(false)
  return (
    <>
      <button className="button" onClick={() => setConfirming(true)}>
        Delete the provider
      </button>
      {confirming && (
        <Confirm
          title="Delete the provider?"
          action="Delete"
          error={remove.error}
          busy={remove.isPending}
          close={() => setConfirming(false)}
          confirm={() => remove.mutate()}
        >
          <p>
            Its sessions end within 5 seconds, yours too if you signed in by it. Members and their roles stay, but who
            has no other way of signing in gets in no more: the operator can make them a link.
          </p>
        </Confirm>
      )}
    </>
  )
}
