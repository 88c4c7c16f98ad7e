import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { link } from '../address'
import { domainsQuery } from '../api/identity'
import {
  provisionedGroupsQuery,
  provisionedPeopleQuery,
  setGroupRole,
  type GroupRole,
  type ProvisionedGroup,
  type ProvisionedPerson,
} from '../api/provisioning'
import { formatMoment, formatNumber } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { Confirm } from './confirm'
import { ScimTokens } from './scim-tokens'
import { LabelledCopyField } from './labelled-copy-field'

/** Provisioning is how the company's identity provider manages the members of the workspace (SCIM). */
export default function Provisioning({ workspace }: ScreenProps) {
  const administers = workspace.role === 'owner' || workspace.role === 'admin'
  return (
    <>
      <header>
        <h1>Provisioning</h1>
        <p className="lead">
          Your identity provider adds people to {workspace.name}, groups them and takes them away, by SCIM 2.0.{' '}
          {administers ? <a href="/docs/scim">How to set it up</a> : 'Owners and admins see it and set it up.'}
        </p>
      </header>
      {administers && (
        <>
          <Address workspace={workspace.id} />
          <ScimTokens workspace={workspace.id} />
          <People workspace={workspace.id} />
          <Groups workspace={workspace.id} />
        </>
      )}
    </>
  )
}

function Address({ workspace }: { workspace: string }) {
  const domains = useQuery(domainsQuery(workspace))
  return (
    <section aria-labelledby="address" className="webhook-form">
      <h2 id="address">Address</h2>
      <div className="copy-field">
        <LabelledCopyField
          label="Base address for Okta, tenant URL for Entra ID"
          value={`${location.origin}/scim/v2`}
        />
      </div>
      {domains.data?.every((d) => !d.proved_at) && (
        <p className="warning">
          No domain is proved yet. Only people with an address in a proved domain can be added:{' '}
          <a {...link('/settings/sign-in')}>prove yours first</a>.
        </p>
      )}
    </section>
  )
}

const states: Record<ProvisionedPerson['state'], string> = {
  pending: 'a member when they first sign in',
  member: 'a member',
  inactive: 'taken away by the provider',
  removed: 'removed here by an owner or admin',
}

function People({ workspace }: { workspace: string }) {
  const people = useInfiniteQuery(provisionedPeopleQuery(workspace))
  const all = people.data?.pages.flat()
  return (
    <section aria-labelledby="provisioned" className="webhook-form">
      <h2 id="provisioned">People</h2>
      {people.error && <Notice error={people.error} retry={() => void people.refetch()} />}
      {people.isPending && <div className="skeleton" style={{ height: 96 }} />}
      {all?.length === 0 && (
        <p className="quiet">The provider has added nobody yet. It begins when it has the address and a token.</p>
      )}
      {all && all.length > 0 && (
        <ul className="people" aria-label="Provisioned people">
          {all.map((p) => (
            <li key={p.id}>
              <span className="who">
                <b>
                  <bdi>{p.name}</bdi>
                </b>
                <bdi>{p.email}</bdi>
              </span>
              <span className={p.removal_refused_at ? 'problem' : 'quiet'}>
                {p.removal_refused_at
                  ? `The last owner: the provider asked to take them away ${formatMoment(new Date(p.removal_refused_at))}`
                  : p.state === 'member' && p.role
                    ? p.role
                    : states[p.state]}
              </span>
            </li>
          ))}
        </ul>
      )}
      {people.hasNextPage && (
        <button className="button" disabled={people.isFetchingNextPage} onClick={() => void people.fetchNextPage()}>
          Show more people
        </button>
      )}
    </section>
  )
}

function Groups({ workspace }: { workspace: string }) {
  const groups = useQuery(provisionedGroupsQuery(workspace))
  return (
    <section aria-labelledby="groups" className="webhook-form">
      <h2 id="groups">Groups</h2>
      <p className="quiet">
        While a group has a role, provisioned people are admins if one of their groups says so, else members. Owners
        stay owners.
      </p>
      {groups.error && <Notice error={groups.error} retry={() => void groups.refetch()} />}
      {groups.isPending && <div className="skeleton" style={{ height: 96 }} />}
      {groups.data?.length === 0 && (
        <p className="quiet">There is no group yet. Push those that are to have a role from the provider.</p>
      )}
      {groups.data && groups.data.length > 0 && (
        <ul className="people" aria-label="Groups">
          {groups.data.map((g) => (
            <Group key={g.id} workspace={workspace} of={g} />
          ))}
        </ul>
      )}
    </section>
  )
}

/** The effect of a group's role. */
const effects: Record<GroupRole, string> = {
  none: 'It gives no role any more. If no other group gives one, everybody keeps the role of now, and roles are given here.',
  member: 'Its people are members, unless another group makes them admins.',
  admin: 'Its people are admins: they invite and remove people, change roles and make API keys.',
}

function Group({ workspace, of }: { workspace: string; of: ProvisionedGroup }) {
  const set = useMutation(setGroupRole(workspace))
  const [confirming, setConfirming] = useState<GroupRole>()
  const people = of.members === 1 ? '1 person' : `${formatNumber(of.members)} people`
  return (
    <li>
      <span className="who">
        <b>
          <bdi>{of.name}</bdi>
        </b>
        <span>{people}</span>
      </span>
      <select
        aria-label={`Role of the group ${of.name}`}
        value={of.role ?? 'none'}
        onChange={(e) => {
          set.reset()
          setConfirming(e.target.value as GroupRole)
        }}
      >
        <option value="none">no role</option>
        <option value="member">members</option>
        <option value="admin">admins</option>
      </select>
      {confirming && (
        <Confirm
          title={`Change the role of ${people}?`}
          action="Change the role"
          error={set.error}
          busy={set.isPending}
          close={() => setConfirming(undefined)}
          confirm={() =>
            set.mutate(
              { id: of.id, role: confirming },
              {
                onSuccess: () => {
                  setConfirming(undefined)
                  notify('Roles follow the groups within 5 seconds')
                },
              },
            )
          }
        >
          <p>
            <bdi>{of.name}</bdi>: {effects[confirming]}
          </p>
          {confirming !== 'none' && (
            <p>
              From then on groups say the roles of all provisioned people: who is in no group of admins is a member, and
              the API keys of admins who become members end.
            </p>
          )}
        </Confirm>
      )}
    </li>
  )
}
