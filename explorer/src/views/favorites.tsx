import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { useState } from 'react'
import { favoritesQuery, setFavorite, viewsChanged, type View } from '../api/views'
import { link } from '../address'
import { Notice } from '../ui/notice'
import { isMac } from '../ui/is-mac'
import { notify } from '../ui/toast'
import { useOrder } from '../ui/use-order'
import { moved } from '../order'
import { FavoriteButton } from './favorite-button'
import { addressOf } from './view-row'

/** Favorites are this user's Views in their own order: by buttons, Alt with arrows, or dragging. */
export function Favorites({ workspace }: { workspace: string }) {
  const client = useQueryClient()
  const options = favoritesQuery(workspace)
  const query = useQuery(options)
  const [announcement, setAnnouncement] = useState('')
  const move = useMutation({
    mutationFn: ({ view, to }: { view: View; to: number }) => setFavorite(workspace, view.id, true, to),
    onMutate: ({ view, to }) => {
      client.setQueryData(
        options.queryKey,
        (all) =>
          all &&
          moved(
            all,
            all.findIndex((v) => v.id === view.id),
            to,
          ),
      )
      setAnnouncement(`${view.name} is number ${to + 1}`)
    },
    onError: (error) => notify(`The order is not saved: ${error.message}`),
    // Serialized: the last answer is the final order.
    scope: { id: 'favorites' },
    onSettled: () => viewsChanged(client, workspace),
  })
  const all = query.data ?? []
  const {
    itemProps,
    handleProps,
    move: to,
  } = useOrder(
    all.map((v) => v.id),
    (from, position) => {
      const view = all[from]
      if (view) move.mutate({ view, to: position })
    },
  )
  return (
    <aside className="rail favorites" aria-label="Favorites">
      <div className="rail-head">
        <h2>Favorites</h2>
      </div>
      {query.error && !query.data && <Notice error={query.error} retry={() => void query.refetch()} />}
      {query.data?.length === 0 && (
        <p className="quiet">
          Press the star beside a View: it is here then, and in <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>. Only you see your
          Favorites.
        </p>
      )}
      <ol>
        {all.map((v, i) => (
          <li key={v.id} {...itemProps(i)} {...handleProps(i)}>
            <FavoriteButton view={v} />
            <a {...link(addressOf(v))} title={v.name} draggable={false} aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown">
              <bdi>{v.name}</bdi>
            </a>
            <button
              className="icon-button"
              aria-label={`Move ${v.name} up`}
              disabled={i === 0}
              onClick={() => to(i, i - 1)}
            >
              <ArrowUp size={14} aria-hidden />
            </button>
            <button
              className="icon-button"
              aria-label={`Move ${v.name} down`}
              disabled={i === all.length - 1}
              onClick={() => to(i, i + 1)}
            >
              <ArrowDown size={14} aria-hidden />
            </button>
          </li>
        ))}
      </ol>
      {all.length > 1 && (
        <p className="quiet wide">
          <kbd>Alt</kbd> with <kbd>↑</kbd> <kbd>↓</kbd> moves one.
        </p>
      )}
      <p className="sr" role="status">
        {announcement}
      </p>
    </aside>
  )
}
