import { useQuery } from '@tanstack/react-query'
import { RequestError } from '../api/client'
import { viewQuery } from '../api/views'
import { link } from '../address'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { isID } from '../search/conditions'
import { SearchScreen } from '../search/search-screen'
import { Notice, viewNotFound } from '../ui/notice'
import { ViewHead } from './view-head'

/** OpenView searches in a View. */
export function OpenView({ id, ...props }: ScreenProps & { id: string }) {
  const valid = isID(id)
  const query = useQuery({ ...viewQuery(props.workspace.id, id), enabled: valid })
  const { data: view, error } = query
  const gone = !valid || (error instanceof RequestError && error.status === 404)
  if (view && !gone) return <SearchScreen {...props} view={view} head={<ViewHead view={view} />} />
  return (
    <div className="screen">
      <Top workspace={props.workspace} />
      <main className="results" aria-busy={query.isFetching}>
        {gone ? (
          <div className="notice" role="alert">
            <h1>{viewNotFound.title}</h1>
            <p>{viewNotFound.text}</p>
            <a className="button" {...link('/views')}>
              All Views
            </a>
          </div>
        ) : error ? (
          <Notice error={error} retry={() => void query.refetch()} />
        ) : (
          <div className="views-wait">
            <div className="skeleton line" style={{ width: '30%' }} />
            <div className="skeleton line" style={{ width: '60%' }} />
          </div>
        )}
      </main>
    </div>
  )
}
