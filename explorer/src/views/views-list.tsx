import { useInfiniteQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useEffect, useState } from 'react'
import { viewsQuery, type View } from '../api/views'
import { go, link } from '../address'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { Notice } from '../ui/notice'
import { Favorites } from './favorites'
import { NewList } from './new-list'
import { useViewsFilter } from './use-views-filter'
import { ViewRow } from './view-row'
import { ViewsFilters } from './views-filters'

/** ViewsList has all Views of the workspace, and the user's Favorites. */
export function ViewsList({ workspace }: ScreenProps) {
  const { filter, setFilter } = useViewsFilter()
  const views = useInfiniteQuery(viewsQuery(workspace.id, filter))
  const found = views.data?.pages.flat() ?? []
  const [creating, setCreating] = useState(false)
  useEffect(() => {
    document.title = 'Views · Atlas'
  }, [])
  return (
    <div className="screen">
      <Top workspace={workspace} />
      <div className="columns views">
        <Favorites workspace={workspace.id} />
        <main className="results" aria-busy={views.isFetching}>
          <div className="views-head">
            <h1>Views</h1>
            <p className="quiet">Shared with everyone in {workspace.name}</p>
            <button className="button primary" onClick={() => setCreating(true)}>
              <Plus size={14} aria-hidden /> New list
            </button>
          </div>
          <ViewsFilters filter={filter} setFilter={setFilter} />
          {views.error && !views.data ? (
            <Notice error={views.error} retry={() => void views.refetch()} />
          ) : views.isPending ? (
            <div className="views-wait" role="status" aria-label="Loading Views">
              {[72, 54, 66, 48, 60].map((width) => (
                <div key={width} className="skeleton line" style={{ width: `${width}%` }} />
              ))}
            </div>
          ) : found.length === 0 ? (
            <Empty filtered={Object.keys(filter).length > 0} create={() => setCreating(true)} />
          ) : (
            <ViewsTable views={found} />
          )}
          {views.hasNextPage && (
            <button
              className="button views-more"
              disabled={views.isFetching}
              onClick={() => void views.fetchNextPage()}
            >
              Show more
            </button>
          )}
        </main>
      </div>
      {creating && <NewList workspace={workspace.id} onClose={() => setCreating(false)} />}
    </div>
  )
}

function ViewsTable({ views }: { views: View[] }) {
  return (
    <table className="views-table">
      <thead>
        <tr>
          <th>
            <span className="sr">Favorite</span>
          </th>
          <th>Name</th>
          <th>Kind</th>
          <th className="numeric">Records</th>
          <th>Changed</th>
          <th>
            <span className="sr">More</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {views.map((v) => (
          <ViewRow key={v.id} view={v} />
        ))}
      </tbody>
    </table>
  )
}

/** example is a search that is worth saving. */
const example = '/projects?stage=permitted&stage=under_construction&primary_use=multifamily&cost=1000000..'

function Empty({ filtered, create }: { filtered: boolean; create: () => void }) {
  return filtered ? (
    <div className="notice">
      <h2>No View matches</h2>
      <p>A name is found by any part of it.</p>
      <button className="button" onClick={() => go('/views')}>
        Show all
      </button>
    </div>
  ) : (
    <div className="notice">
      <h2>No Views yet</h2>
      <p>A View is a set of records that your workspace comes back to. There are two kinds.</p>
      <ul className="ways">
        <li>
          <b>A saved search</b> finds records by itself. Set filters in Search, then “Save as View”; the bell beside it
          tells you what is new.
        </li>
        <li>
          <b>A list</b> has what somebody puts into it, such as whom to meet this week.
        </li>
      </ul>
      <div className="actions">
        <a className="button primary" {...link(example)}>
          Try it: large multifamily projects
        </a>
        <button className="button" onClick={create}>
          Make a list
        </button>
      </div>
    </div>
  )
}
