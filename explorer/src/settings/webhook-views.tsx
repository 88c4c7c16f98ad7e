import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { restText } from '../api/alerts'
import { viewsQuery } from '../api/views'
import type { Webhook } from '../api/webhooks'

interface Props {
  workspace: string
  /** The stored states of the Views that the webhook names. */
  named: Webhook['views']
  chosen: string[]
  change: (chosen: string[]) => void
}

/** How many Views a webhook can name. */
const maxViews = 20

const states: Record<Webhook['views'][number]['state'], string> = {
  waiting: 'What matches now is being read.',
  watching: 'It is notified of what begins to match.',
  resting: '',
  off: 'It is not notified: the webhook is disabled.',
  deleted: 'The View is deleted: it gets no events.',
}

/** WebhookViews chooses the Views whose new records a webhook gets, and shows their states. */
export function WebhookViews({ workspace, named, chosen, change }: Props) {
  const { data, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(
    viewsQuery(workspace, { view_type: 'dynamic' }),
  )
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage()
  }, [hasNextPage, isFetching, fetchNextPage])
  const deleted = named.filter((v) => v.state === 'deleted' && chosen.includes(v.view_id))
  const views = [
    ...(data?.pages.flat() ?? []),
    ...deleted.map((v) => ({ id: v.view_id, name: `Deleted View ${v.view_id}` })),
  ]
  const stateOf = (id: string) => {
    const view = chosen.includes(id) ? named.find((v) => v.view_id === id) : undefined
    return view && (restText(view.rest, 'It has not been notified') || states[view.state])
  }
  return (
    <fieldset className="events">
      <legend>Views that it is notified of</legend>
      {data && views.length === 0 && <p className="quiet">There is no View from “Save as View” yet.</p>}
      {views.map((v) => {
        const on = chosen.includes(v.id)
        return (
          <label key={v.id}>
            <input
              type="checkbox"
              checked={on}
              disabled={!on && chosen.length >= maxViews}
              onChange={() => change(on ? chosen.filter((id) => id !== v.id) : [...chosen, v.id])}
            />
            <span>
              <bdi>{v.name}</bdi> <span className="quiet state">{stateOf(v.id)}</span>
            </span>
          </label>
        )
      })}
    </fieldset>
  )
}
