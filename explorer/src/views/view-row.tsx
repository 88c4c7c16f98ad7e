import { useQuery } from '@tanstack/react-query'
import { List, ListFilter } from 'lucide-react'
import { facetsQuery } from '../api/queries'
import { membersQuery, nameOf } from '../api/people'
import { datasetOf, sourceOf, type View } from '../api/views'
import { link } from '../address'
import { nouns } from '../datasets'
import { formatMoment, formatNumber } from '../format'
import { format, type SearchState } from '../search/state'
import { AlertButton } from './alert-button'
import { fromDefinition } from './definition'
import { NewCount, Resting } from './new-records'
import { lookOf } from './presentation'
import { FavoriteButton } from './favorite-button'
import { ViewMenu } from './view-menu'

/** addressOf is the address of a View's search, with its look. */
export function addressOf(view: View): string {
  const dataset = datasetOf(view)
  const state: SearchState = { dataset, source: sourceOf(view), query: '', conditions: {} }
  return format({ ...state, ...lookOf(view, state) })
}

export function ViewRow({ view }: { view: View }) {
  const dataset = datasetOf(view)
  const dynamic = view.view_type === 'dynamic'
  const members = useQuery({ ...membersQuery(view.workspace_id), staleTime: 300_000 })
  const changer = members.data?.find((m) => m.id === view.updated_by)
  const counts = useQuery({
    ...facetsQuery(view.workspace_id, dataset, { source: sourceOf(view) }, []),
    enabled: dynamic,
  })
  const count = dynamic ? counts.data?.count : view.record_count
  const by = view.updated_by === null ? 'an API key' : changer ? nameOf(changer) : 'a former member'
  const Icon = dynamic ? ListFilter : List
  return (
    <tr>
      <td>
        <FavoriteButton view={view} />
        <AlertButton view={view} />
      </td>
      <td className="name">
        <a {...link(addressOf(view))} title={view.name}>
          <bdi>{view.name}</bdi>
        </a>
        <NewCount view={view} />
        <Resting view={view} />
      </td>
      <td className="kind">
        <Icon size={14} aria-hidden /> {dynamic ? 'Saved search' : 'List'} of {nouns[dataset].many}
      </td>
      <td className="numeric" aria-busy={count === undefined}>
        {count === undefined ? (
          counts.error ? (
            <span className="quiet">not counted</span>
          ) : (
            <span className="skeleton line" />
          )
        ) : (
          formatNumber(count)
        )}
      </td>
      <td className="when">
        {formatMoment(new Date(view.updated_at))}
        {members.isPending ? '' : <span className="quiet"> by {by}</span>}
      </td>
      <td>
        <ViewMenu view={view} definition={dynamic ? fromDefinition(view, dataset) : undefined} />
      </td>
    </tr>
  )
}
