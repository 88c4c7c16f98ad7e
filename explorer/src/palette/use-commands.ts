import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { go } from '../address'
import { boardsQuery } from '../api/boards'
import { books } from '../api/book'
import { sessionQuery } from '../api/queries'
import { signOut } from '../api/session'
import { datasetOf, favoritesQuery, viewsQuery, type View } from '../api/views'
import { capital, datasets, nouns } from '../datasets'
import { sentenceOf } from '../search/clauses'
import { lexiconOf } from '../search/lexicon'
import { nameQuery } from '../search/names'
import { parse } from '../search/state'
import { recentSearches } from '../session/recent'
import { parameter, shortOf } from '../session/workspace'
import { sections } from '../settings/sections'
import type { ScreenProps } from '../shell/screens'
import { scopeOf } from '../source'
import { setTheme, themes } from '../ui/theme'
import type { Command } from './command'
import { visibleCommands } from './on-screen'
import { show } from './show'

/** How long typing pauses before Views are searched by name, in milliseconds. */
const debounce = 200

/** useCommands lists everything that can be done here and everywhere. */
export function useCommands({ workspace, descriptors }: ScreenProps, typed: string): Command[] {
  // As it was before the palette was shown.
  const [screen] = useState(() => visibleCommands())
  const views = useViews(workspace.id, typed)
  const favorites = useQuery(favoritesQuery(workspace.id)).data
  const recent = useRecent({ workspace, descriptors }, [...(favorites ?? []), ...views])
  const boards = useQuery(boardsQuery(workspace.id)).data
  const globalCommands = useGlobalCommands(workspace.id)
  return useMemo(() => {
    const starred = new Set(favorites?.map((v) => v.id))
    return [
      ...screen,
      ...recent,
      ...(favorites ?? []).map((v) => commandOf(v, 'Favorites')),
      ...views.filter((v) => !starred.has(v.id)).map((v) => commandOf(v, 'Views and lists')),
      ...(boards ?? []).map(({ id, name }): Command => ({
        id: `board ${id}`,
        group: 'Boards',
        name,
        run: () => go(`/boards/${id}`),
      })),
      ...globalCommands,
    ]
  }, [screen, recent, favorites, views, boards, globalCommands])
}

const commandOf = (view: View, group: 'Favorites' | 'Views and lists'): Command => ({
  id: `view ${view.id}`,
  group,
  name: view.name,
  place: `${view.view_type === 'static' ? 'List' : 'View'} of ${nouns[datasetOf(view)].many}`,
  run: () => go(`/views/${view.id}`),
})

/** useViews are the first Views by name, and those whose names have what is typed. */
function useViews(workspace: string, typed: string): View[] {
  const [query, setQuery] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setQuery(typed.trim().slice(0, 100)), debounce)
    return () => clearTimeout(timer)
  }, [typed])
  const first = useInfiniteQuery(viewsQuery(workspace, {})).data
  const named = useInfiniteQuery({ ...viewsQuery(workspace, { query }), enabled: query !== '' }).data
  return useMemo(() => {
    const all = [...(named?.pages.flat() ?? []), ...(first?.pages.flat() ?? [])]
    return [...new Map(all.map((v) => [v.id, v])).values()]
  }, [named, first])
}

/** useRecent describes the recent searches in words. */
function useRecent({ workspace, descriptors }: ScreenProps, views: View[]): Command[] {
  const client = useQueryClient()
  const user = useQuery(sessionQuery).data?.id
  const [addresses] = useState(() => (user ? recentSearches({ user, workspace: workspace.id }) : []))
  return addresses.flatMap((address): Command[] => {
    const { pathname, search } = new URL(address, location.origin)
    const view = views.find((v) => pathname === `/views/${v.id}`)
    const ofView = view && datasetOf(view)
    // A View that is deleted, or not loaded yet.
    if (pathname.startsWith('/views/') && !view) return []
    const { dataset, source } = scopeOf(pathname, ofView)
    const { kindOf, valueLabel } = lexiconOf(descriptors, source && dataset)
    const state = parse(pathname, search, kindOf, ofView)
    const nameOf = (id: string) =>
      datasets.map((d) => client.getQueryData(nameQuery(workspace.id, d, id).queryKey)).find(Boolean)
    const words = sentenceOf({
      state,
      kindOf,
      valueLabel: (key, value, of = dataset) => {
        const name = kindOf(of, key) === 'id' ? nameOf(value) : undefined
        return valueLabel(of, key, value, name ? { [value]: name } : {})
      },
    })
    const place = view ? view.name : capital(nouns[dataset].many)
    return [{ id: `recent ${address}`, group: 'Recent searches', name: words, place, run: () => go(address) }]
  })
}

function useGlobalCommands(workspace: string): Command[] {
  const user = useQuery(sessionQuery).data
  return useMemo(() => {
    const to = (address: string, name: string, place?: string): Command => ({
      id: `go ${address}`,
      group: 'Go to',
      name,
      ...(place === undefined ? {} : { place }),
      run: () => go(address),
    })
    const open = (address: string, name: string, place?: string): Command => ({
      ...to(address, name, place),
      group: 'Atlas',
      run: () => location.assign(address),
    })
    const others = (user?.workspaces ?? []).filter((m) => m.id !== workspace)
    return [
      ...datasets.map((d) => to(`/${d}`, capital(nouns[d].many), 'Search')),
      ...books.map((b) => to(`/book/${b}`, capital(nouns[b].many), 'Book')),
      to('/views', 'Views'),
      to('/boards', 'Boards'),
      to('/queue', 'Signals', 'Queue'),
      to('/export', 'Exports'),
      ...sections.map(({ path, label }) => to(`/settings/${path}`, label, 'Settings')),
      ...others.map((m) => open(`/?${parameter}=${shortOf(m.id, user?.workspaces ?? [])}`, m.name, 'Workspace')),
      ...themes.map((t): Command => ({
        id: `theme ${t}`,
        group: 'Atlas',
        name: capital(t),
        place: 'Theme',
        run: () => setTheme(t),
      })),
      { id: 'keys', group: 'Atlas', name: 'Keys', place: 'Shortcuts', keys: '?', run: () => show('keys') },
      open('/docs/analysts', 'What the words mean', 'Documentation'),
      open('/docs', 'API documentation', 'Documentation'),
      { id: 'leave', group: 'Atlas', name: 'Sign out', run: () => void signOut() },
    ]
  }, [user, workspace])
}
