import '../ui/page.css'
import './export.css'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { go, link, useAddress } from '../address'
import { sessionQuery } from '../api/queries'
import { viewQuery, type View } from '../api/views'
import { datasets, nouns } from '../datasets'
import { formatNumber } from '../format'
import { SearchContext, useSearchOfAddress } from '../search/context'
import { Sentence } from '../search/sentence'
import { format } from '../search/state'
import { tableOf } from '../table/fields'
import { Notice } from '../ui/notice'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { ExportList, Unfinished } from './export-list'
import { JobView } from './job-view'
import { NewExport } from './new-export'
import { jobQuery } from './runner'
import { readSource } from './store'
import { useCount } from './use-count'

/** ExportScreen is /export, /export/<id>, and /export before the address of a search in Data, the book or a View. */
export default function ExportScreen(props: ScreenProps) {
  const [, , second = '', third = ''] = useAddress().path.split('/')
  const ofAddress = second === 'book' || datasets.some((d) => d === second)
  useEffect(() => {
    document.title = 'Export · Atlas'
  }, [])
  return (
    <div className="screen">
      <Top workspace={props.workspace} />
      <main className="page">
        <div className="page-column export">
          {ofAddress ? (
            <OfAddress {...props} />
          ) : second === 'views' ? (
            <OfView key={third} id={third} {...props} />
          ) : second ? (
            <StoredExport key={second} id={second} {...props} />
          ) : (
            <ExportList workspace={props.workspace.id} />
          )}
        </div>
      </main>
    </div>
  )
}

const prefix = '/export'

const waiting = <div className="skeleton" style={{ height: 120 }} />

/** OfView offers to export a search in a View. */
function OfView({ id, ...props }: ScreenProps & { id: string }) {
  const view = useQuery(viewQuery(props.workspace.id, id))
  if (view.error) return <Notice error={view.error} retry={() => void view.refetch()} />
  return view.data ? <OfAddress {...props} view={view.data} /> : waiting
}

/** OfAddress offers to export the search that the address describes. */
function OfAddress({ workspace, descriptors, view }: ScreenProps & { view?: View }) {
  const found = useSearchOfAddress(workspace, descriptors, { prefix, view })
  const search = { ...found, change: (next: typeof found.state) => go(prefix + format(next), { replace: true }) }
  const { state, body } = search
  const source = { dataset: state.dataset, body, ...(state.sort ? { sort: state.sort } : {}) }
  const count = useCount(workspace.id, source)
  return (
    <>
      <header>
        <p className="quiet">Export{view && <bdi> · {view.name}</bdi>}</p>
        <SearchContext value={search}>
          <Sentence count={count.data} />
        </SearchContext>
      </header>
      <NewExport
        key={tableOf(state)}
        workspace={workspace.id}
        source={source}
        back={format(state)}
        name={view?.name ?? (state.source ? `Book ${nouns[state.dataset].many}` : undefined)}
        descriptors={descriptors}
        {...(state.columns ? { visibleColumns: state.columns.map((c) => c.key) } : {})}
      />
      <Unfinished workspace={workspace.id} />
    </>
  )
}

/** StoredExport is an export that this browser stores, or one that has not started. */
function StoredExport({ id, workspace: { id: workspace }, descriptors }: ScreenProps & { id: string }) {
  const job = useQuery(jobQuery(id))
  const { data: user } = useQuery(sessionQuery)
  const source = useQuery({
    queryKey: ['export-source', id],
    queryFn: async () => (await readSource(id)) ?? null,
    enabled: job.data === null,
    staleTime: 0,
  })
  // After the end of a session the export stays on the page.
  const mine = job.data?.workspace === workspace && (!user || job.data.user === user.id)
  if (job.data && mine) return <JobView job={job.data} />
  if (job.isPending || (job.data === null && source.isFetching)) return waiting
  if (source.data) {
    const { ids, dataset } = source.data
    return (
      <>
        <header>
          <p className="quiet">Export</p>
          <h1>
            {ids
              ? `${formatNumber(ids.length)} selected ${nouns[dataset].many}`
              : `All ${nouns[dataset].many} that match`}
          </h1>
        </header>
        <NewExport id={id} workspace={workspace} source={source.data} back={`/${dataset}`} descriptors={descriptors} />
      </>
    )
  }
  return (
    <div className="notice">
      <h2>This browser has no such export</h2>
      <p>Exports are kept for seven days in the browser that made them.</p>
      <a className="button" {...link('/export')}>
        All exports
      </a>
    </div>
  )
}
