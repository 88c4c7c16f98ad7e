import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { addDomain, checkDomain, domainsQuery, providerQuery, removeDomain, type Domain } from '../api/identity'
import { formatMoment } from '../format'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import { domainHint, domainState } from './provider-texts'
import { LabelledCopyField } from './labelled-copy-field'

interface Props {
  workspace: string
  owner: boolean
}

/** Domains are the e-mail domains of the workspace's provider. */
export function Domains({ workspace, owner }: Props) {
  const domains = useQuery(domainsQuery(workspace))
  const add = useMutation(addDomain(workspace))
  const [name, setName] = useState('')
  const provider = useQuery(providerQuery(workspace)).data?.provider
  return (
    <section aria-labelledby="domains" className="webhook-form">
      <h2 id="domains">Domains</h2>
      <p className="quiet">
        Whose e-mail addresses are yours. Add only a domain all of whose addresses your company gives out, never that of
        a mail service.
      </p>
      <form
        className="actions"
        onSubmit={(e) => {
          e.preventDefault()
          add.mutate(name, { onSuccess: () => setName('') })
        }}
      >
        <input
          type="text"
          required
          value={name}
          onChange={(e) => setName(e.target.value)}
          aria-label="Domain"
          placeholder="firm.example"
          maxLength={253}
          autoCapitalize="none"
          spellCheck={false}
        />
        <button className="button primary" disabled={add.isPending}>
          Add a domain
        </button>
      </form>
      {add.error && <Notice error={add.error} refused="The domain is not added" />}
      {domains.error && <Notice error={domains.error} retry={() => void domains.refetch()} />}
      {domains.isPending && <div className="skeleton" style={{ height: 96 }} />}
      {domains.data?.length === 0 && (
        <p className="quiet">
          There is no domain yet. Add that of your addresses: you get a DNS record that proves it.
        </p>
      )}
      {domains.data && domains.data.length > 0 && (
        <ul className="webhooks" aria-label="Domains">
          {domains.data.map((d) => (
            <Row key={d.domain} workspace={workspace} of={d} removable={owner || provider === null} />
          ))}
        </ul>
      )}
    </section>
  )
}

function Row({ workspace, of, removable }: { workspace: string; of: Domain; removable: boolean }) {
  const check = useMutation(checkDomain(workspace))
  // By then the row is removed.
  const remove = useMutation({ ...removeDomain(workspace), onSuccess: () => notify('The domain is deleted') })
  const [confirming, setConfirming] = useState(false)
  const state = domainState(of)
  const hint = domainHint(of)
  const byOperator = of.proved_by === 'operator'
  return (
    <li aria-label={of.domain}>
      <div className="webhook-head">
        <bdi>{of.domain}</bdi>
        <span className={state.good ? 'badge' : 'badge problem'}>{state.text}</span>
      </div>
      {hint && <p className={of.proved_at ? 'problem' : 'quiet'}>{hint}</p>}
      {of.proved_at && !hint && of.checked_at && (
        <p className="quiet">Its record was there {formatMoment(new Date(of.checked_at))}.</p>
      )}
      {!byOperator && (!of.proved_at || of.failing_since) && (
        <div className="copy-field">
          <LabelledCopyField label={`Name of the text record of ${of.domain}`} value={of.record_name} />
          <LabelledCopyField label={`Text of the record of ${of.domain}`} value={of.record_text} />
        </div>
      )}
      <div className="actions">
        {!byOperator && (
          <button
            className="button"
            disabled={check.isPending}
            onClick={() =>
              check.mutate(of.domain, {
                onSuccess: (d) =>
                  notify(
                    d.proved_at && !d.failing_since
                      ? `${d.domain} is proved`
                      : `The record of ${d.domain} is not there`,
                  ),
              })
            }
          >
            {check.isPending ? 'Looking…' : 'Check now'}
          </button>
        )}
        {removable && (
          <button className="button" onClick={() => setConfirming(true)}>
            Delete
          </button>
        )}
      </div>
      {check.error && <Notice error={check.error} refused="The domain is not proved" />}
      {confirming && (
        <Confirm
          title="Delete the domain?"
          action="Delete"
          error={remove.error}
          busy={remove.isPending}
          close={() => setConfirming(false)}
          confirm={() => remove.mutate(of.domain)}
        >
          <p>
            Nobody signs in with an address of <bdi>{of.domain}</bdi> any more, their sessions by the provider end
            within 5 seconds, and provisioning adds nobody of it. Another workspace can prove it then.
          </p>
        </Confirm>
      )}
    </li>
  )
}
