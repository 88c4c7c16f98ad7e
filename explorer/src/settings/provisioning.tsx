import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
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
import { ScimTokens } from './scim-tokens'
import { ToCopy } from './to-copy'

/** Provisioning is how the company's identity provider says who is in the workspace (SCIM). */
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
      <div className="to-copy">
        <ToCopy label="Base address for Okta, tenant URL for Entra ID" value={`${location.origin}/scim/v2`} />
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
              <span className={p.kept_at ? 'problem' : 'quiet'}>
                {p.kept_at
                  ? `The last owner: the provider asked to take them away ${formatMoment(new Date(p.kept_at))}`
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

function Group({ workspace, of }: { workspace: string; of: ProvisionedGroup }) {
  const set = useMutation(setGroupRole(workspace))
  return (
    <li>
      <span className="who">
        <b>
          <bdi>{of.name}</bdi>
        </b>
        <span>{of.members === 1 ? '1 person' : `${formatNumber(of.members)} people`}</span>
        {set.error && <Notice error={set.error} refused="The role is not changed" />}
      </span>
      <select
        aria-label={`Role of the group ${of.name}`}
        value={set.isPending ? set.variables.role : (of.role ?? 'none')}
        disabled={set.isPending}
        onChange={(e) =>
          set.mutate(
            { id: of.id, role: e.target.value as GroupRole },
            { onSuccess: () => notify('Roles follow the groups within 5 seconds') },
          )
        }
      >
        <option value="none">no role</option>
        <option value="admin">admins</option>
        <option value="member">members</option>
      </select>
    </li>
  )
}
