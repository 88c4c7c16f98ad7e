import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { setProvider, type Provider } from '../api/identity'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { changeOf, formOf, needsSecret, type ProviderForm, type RoleRow } from './provider-texts'

interface Props {
  workspace: string
  before: Provider | null
  close: () => void
}

/** ProviderEditor is the form of a provider. The secret is written and never shown. */
export function ProviderEditor({ workspace, before: read, close }: Props) {
  // The state when the form opened: if somebody else changes it meanwhile, nothing of theirs is
  // overwritten.
  const [before] = useState(read)
  const save = useMutation(setProvider(workspace))
  const [form, setForm] = useState(() => formOf(before))
  const set = (change: Partial<ProviderForm>) => setForm((f) => ({ ...f, ...change }))
  const secret = needsSecret(form, before)
  return (
    <form
      className="webhook-form"
      aria-label="Provider"
      onSubmit={(e) => {
        e.preventDefault()
        save.mutate(changeOf(form, before, before?.required ?? false), {
          onSuccess: () => {
            notify('The provider is saved')
            close()
          },
        })
      }}
    >
      <div className="fields">
        <Text
          label="Issuer"
          hint="As the provider's discovery document has it, to the letter"
          required
          type="url"
          placeholder="https://login.firm.example"
          max={500}
          value={form.issuer}
          change={(issuer) => set({ issuer })}
        />
        <Text label="Client id" required max={255} value={form.clientId} change={(clientId) => set({ clientId })} />
        <Text
          label="Client secret"
          hint={secret ? 'It is kept sealed, and never shown again' : 'Empty: the one that Atlas has stays'}
          required={secret}
          type="password"
          max={2000}
          value={form.secret}
          change={(s) => set({ secret: s })}
        />
        <Text
          label="Scopes"
          hint="offline_access lets Atlas ask the provider every 15 minutes whether the session goes on"
          required
          max={2000}
          value={form.scopes}
          change={(scopes) => set({ scopes })}
        />
        <Text
          label="Most hours of a session"
          required
          type="number"
          range={[1, 720]}
          value={form.sessionHours}
          change={(sessionHours) => set({ sessionHours })}
        />
        <Text
          label="Minutes until an idle session ends"
          required
          type="number"
          range={[5, 43_200]}
          value={form.idleMinutes}
          change={(idleMinutes) => set({ idleMinutes })}
        />
        <label className="field">
          Who gets in
          <select
            value={form.defaultRole}
            onChange={(e) => set({ defaultRole: e.target.value as ProviderForm['defaultRole'] })}
          >
            <option value="">{form.roleClaim ? 'Who has a role by the claim' : 'Members, and who is invited'}</option>
            <option value="member">Everybody of the domains, as a member</option>
            <option value="admin">Everybody of the domains, as an admin</option>
          </select>
        </label>
        <Text
          label="Claim that says the roles"
          hint="Such as groups. Empty: roles are given in the workspace"
          max={200}
          value={form.roleClaim}
          change={(roleClaim) => set({ roleClaim })}
        />
        {form.roleClaim.trim() !== '' && <Roles rows={form.roles} change={(roles) => set({ roles })} />}
      </div>
      <div className="actions">
        <button className="button primary" disabled={save.isPending}>
          Save the provider
        </button>
        <button type="button" className="button" onClick={close}>
          Cancel
        </button>
      </div>
      {save.error && <Notice error={save.error} refused="The provider is not saved" />}
    </form>
  )
}

interface TextProps {
  label: string
  hint?: string
  required?: boolean
  type?: 'text' | 'url' | 'password' | 'number'
  placeholder?: string
  max?: number
  range?: [number, number]
  value: string
  change: (value: string) => void
}

function Text({ label, hint, required, type = 'text', placeholder, max, range, value, change }: TextProps) {
  return (
    <label className="field">
      {label}
      <input
        type={type}
        required={required}
        placeholder={placeholder}
        maxLength={max}
        min={range?.[0]}
        max={range?.[1]}
        value={value}
        aria-label={label}
        autoComplete={type === 'password' ? 'new-password' : 'off'}
        spellCheck={false}
        onChange={(e) => change(e.target.value)}
      />
      {hint && <small>{hint}</small>}
    </label>
  )
}

/** Roles are the values of the claim, each with the role that it gives. */
function Roles({ rows, change }: { rows: RoleRow[]; change: (rows: RoleRow[]) => void }) {
  const shown: RoleRow[] = rows.length > 0 ? rows : [{ value: '', role: 'member' }]
  const set = (at: number, row: Partial<RoleRow>) => change(shown.map((r, i) => (i === at ? { ...r, ...row } : r)))
  return (
    <fieldset className="events wide">
      <legend>Roles by values of the claim; of several the highest counts</legend>
      {shown.map((r, i) => (
        <div key={i} className="role-row wide">
          <input
            type="text"
            required
            maxLength={200}
            aria-label={`Value ${i + 1} of the claim`}
            placeholder="atlas-admins"
            value={r.value}
            onChange={(e) => set(i, { value: e.target.value })}
          />
          <select
            aria-label={`Role of value ${i + 1}`}
            value={r.role}
            onChange={(e) => set(i, { role: e.target.value as RoleRow['role'] })}
          >
            <option value="owner">Owner</option>
            <option value="admin">Admin</option>
            <option value="member">Member</option>
          </select>
          <button
            type="button"
            className="button"
            aria-label={`Remove value ${i + 1}`}
            disabled={shown.length === 1}
            onClick={() => change(shown.filter((_, at) => at !== i))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" className="button" onClick={() => change([...shown, { value: '', role: 'member' }])}>
        Another value
      </button>
    </fieldset>
  )
}
