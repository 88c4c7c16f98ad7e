import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { viewsQuery } from '../api/views'

interface Props {
  workspace: string
  chosen: string[]
  change: (chosen: string[]) => void
}

/** How many Views a webhook can name. */
const most = 20

/** WebhookViews chooses the Views of whose new records a webhook is told: those that can have alerts. */
export function WebhookViews({ workspace, chosen, change }: Props) {
  const { data, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(
    viewsQuery(workspace, { view_type: 'dynamic' }),
  )
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage()
  }, [hasNextPage, isFetching, fetchNextPage])
  const views = (data?.pages.flat() ?? []).filter((v) => v.dataset !== 'contact')
  return (
    <fieldset className="events">
      <legend>Views that it is told of</legend>
      {data && views.length === 0 && <p className="quiet">There is no View of projects or firms yet.</p>}
      {views.map((v) => {
        const on = chosen.includes(v.id)
        return (
          <label key={v.id}>
            <input
              type="checkbox"
              checked={on}
              disabled={!on && chosen.length >= most}
              onChange={() => change(on ? chosen.filter((id) => id !== v.id) : [...chosen, v.id])}
            />
            <bdi>{v.name}</bdi>
          </label>
        )
      })}
    </fieldset>
  )
}
