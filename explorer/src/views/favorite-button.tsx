import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Star as Icon } from 'lucide-react'
import { setFavorite, viewsChanged, type View } from '../api/views'
import { notifyFailure } from '../ui/toast'

/** FavoriteButton adds a View to this user's Favorites, or removes it. */
export function FavoriteButton({ view }: { view: View }) {
  const workspace = view.workspace_id
  const client = useQueryClient()
  const set = useMutation({
    mutationFn: (on: boolean) => setFavorite(workspace, view.id, on),
    onSettled: () => viewsChanged(client, workspace),
    onError: notifyFailure,
  })
  // The requested value is shown at once.
  const on = set.isPending ? set.variables : view.is_favorite
  return (
    <button
      className={on ? 'icon-button star on' : 'icon-button star'}
      aria-pressed={on}
      aria-label={`Favorite: ${view.name}`}
      title={on ? 'One of your Favorites' : 'Add to your Favorites'}
      onClick={() => set.mutate(!on)}
    >
      <Icon size={15} fill={on ? 'currentColor' : 'none'} aria-hidden />
    </button>
  )
}
