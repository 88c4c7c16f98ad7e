import { useMutation, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { keyPolicyQuery, setKeyPolicy, type KeyPolicy, type KeyScope } from '../api/api-keys'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { limitsOf, policyText, scopes, toggledScope } from './key-texts'

/** Policy shows the workspace's policy of keys, and lets owners and admins change it. */
export function Policy({ workspace }: { workspace: string }) {
  const policy = useQuery(keyPolicyQuery(workspace))
  const [editing, setEditing] = useState(false)
  if (policy.error) return <Notice error={policy.error} retry={() => void policy.refetch()} />
  if (!policy.data) return <div className="skeleton" style={{ height: 48 }} />
  return (
    <section aria-label="What keys may be">
      <p className="quiet">{policyText(policy.data)}</p>
      {editing ? (
        <Form workspace={workspace} policy={policy.data} close={() => setEditing(false)} />
      ) : (
        <button className="button" onClick={() => setEditing(true)}>
          Limit what keys may be
        </button>
      )}
    </section>
  )
}

function Form({ workspace, policy, close }: { workspace: string; policy: KeyPolicy; close: () => void }) {
  const save = useMutation(setKeyPolicy(workspace))
  const [chosen, setChosen] = useState<KeyScope[]>(policy.scopes ?? scopes.map(([s]) => s))
  const [days, setDays] = useState(policy.max_days?.toString() ?? '')
  const [credits, setCredits] = useState(policy.max_daily_credits?.toString() ?? '')
  const [networks, setNetworks] = useState(policy.networks_required)
  const legend = useId()
  return (
    <form
      className="webhook-form"
      onSubmit={(e) => {
        e.preventDefault()
        save.mutate(limitsOf(chosen, days, credits, networks), {
          onSuccess: () => {
            notify('New and rotated keys keep to it')
            close()
          },
        })
      }}
    >
      <fieldset className="events" aria-labelledby={legend}>
        <legend id={legend}>Keys may</legend>
        {scopes.map(([scope, text]) => (
          <label key={scope}>
            <input
              type="checkbox"
              checked={chosen.includes(scope)}
              disabled={chosen.length === 1 && chosen.includes(scope)}
              onChange={() => setChosen(toggledScope(chosen, scope))}
            />
            <span>{text}</span>
          </label>
        ))}
        <label>
          <input type="checkbox" checked={networks} onChange={() => setNetworks(!networks)} />
          <span>Only from networks that they name</span>
        </label>
      </fieldset>
      <label className="networks">
        At most so many days; empty: any life
        <input type="number" min={1} max={3650} value={days} onChange={(e) => setDays(e.target.value)} />
      </label>
      <label className="networks">
        At most so many credits a day; empty: any budget
        <input type="number" min={1} value={credits} onChange={(e) => setCredits(e.target.value)} />
      </label>
      <div className="actions">
        <button className="button primary" disabled={save.isPending}>
          Save the limits
        </button>
        <button type="button" className="button" onClick={close}>
          Cancel
        </button>
      </div>
      {save.error && <Notice error={save.error} refused="The rules are not saved" />}
    </form>
  )
}
