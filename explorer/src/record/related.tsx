import { useInfiniteQuery, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import { batchQuery, facetsQuery, findLoaded, pageSize, rowsQuery, type Sort } from '../api/queries'
import { link } from '../address'
import { capital, nouns, type AnyRecord, type Dataset, type Records } from '../datasets'
import { credits, formatDay, formatNumber } from '../format'
import { nameOf } from '../search/columns'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { Notice } from '../ui/notice'
import { useFocusAfter } from '../ui/use-focus-after'

/** Relation says where related records are: by their ids, or by a filter on their own. */
type Relation = { dataset: Dataset; sort?: Sort } & ({ ids: string[] } | { key: string })

const latest: Sort = { field: 'occurred_at', order: 'desc' }

function relationsOf(dataset: Dataset, record: AnyRecord): Relation[] {
  switch (dataset) {
    case 'projects': {
      const r = record as Records['projects']
      return [
        { dataset: 'signals', key: 'project_id', sort: latest },
        { dataset: 'accounts', ids: r.account_ids },
        { dataset: 'contacts', ids: r.contact_ids },
      ]
    }
    case 'accounts':
      return [
        { dataset: 'projects', key: 'account_ids' },
        { dataset: 'contacts', key: 'account_id' },
        { dataset: 'signals', key: 'account_ids', sort: latest },
      ]
    case 'contacts': {
      const r = record as Records['contacts']
      return [
        { dataset: 'projects', key: 'contact_ids' },
        { dataset: 'accounts', ids: r.account_id ? [r.account_id] : [] },
      ]
    }
    case 'signals': {
      const r = record as Records['signals']
      return [
        { dataset: 'projects', ids: r.project_id ? [r.project_id] : [] },
        { dataset: 'accounts', ids: r.account_ids },
      ]
    }
  }
}

const filterOf = (key: string, id: string) => ({ filters: { [key]: { value: id } } })

/** Related has the related records by tab. Their counts are free. */
export function Related({ dataset, record }: { dataset: Dataset; record: AnyRecord }) {
  const { workspace } = useSearch()
  const relations = relationsOf(dataset, record)
  const [at, setAt] = useState(0)
  const id = useId()
  const counted = useQueries({
    queries: relations.map((r) => ({
      ...facetsQuery(workspace.id, r.dataset, 'key' in r ? filterOf(r.key, record.id) : {}, []),
      enabled: 'key' in r,
    })),
  })
  const countOf = (i: number) => {
    const r = relations[i]
    return r && 'ids' in r ? r.ids.length : counted[i]?.data?.count
  }
  const chosen = relations[at]
  return (
    <section className="related">
      <div
        role="tablist"
        aria-label="Related records"
        onKeyDown={(e) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]
          if (!step) return
          e.preventDefault()
          const next = (at + step + relations.length) % relations.length
          setAt(next)
          document.getElementById(`${id}-${next}`)?.focus()
        }}
      >
        {relations.map((r, i) => (
          <button
            key={r.dataset}
            id={`${id}-${i}`}
            role="tab"
            aria-selected={i === at}
            aria-controls={`${id}-panel`}
            tabIndex={i === at ? 0 : -1}
            onClick={() => setAt(i)}
          >
            {capital(nouns[r.dataset].many)} <span className="count">{countOf(i) ?? '…'}</span>
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at}`}>
        {chosen && 'ids' in chosen && <ByIDs key={at} dataset={chosen.dataset} ids={chosen.ids} />}
        {chosen && 'key' in chosen && (
          <ByFilter
            key={at}
            dataset={chosen.dataset}
            of={record.id}
            by={chosen.key}
            sort={chosen.sort}
            count={countOf(at)}
          />
        )}
      </div>
    </section>
  )
}

function ByIDs({ dataset, ids }: { dataset: Dataset; ids: string[] }) {
  const { workspace } = useSearch()
  const wanted = ids.slice(0, 100)
  const client = useQueryClient()
  const found = wanted.flatMap((id) => findLoaded(client, workspace.id, dataset, id) ?? [])
  const query = useQuery(batchQuery(workspace.id, dataset, wanted))
  return (
    <List
      dataset={dataset}
      records={query.data ?? (found.length > 0 ? found : undefined)}
      error={query.error}
      busy={query.isFetching}
      next={query.data ? 0 : wanted.length - found.length}
      load={() => void query.refetch()}
    />
  )
}

interface ByFilterProps {
  dataset: Dataset
  of: string
  by: string
  sort: Sort | undefined
  count: number | undefined
}

function ByFilter({ dataset, of, by, sort, count }: ByFilterProps) {
  const { workspace } = useSearch()
  const query = useInfiniteQuery(rowsQuery(workspace.id, dataset, filterOf(by, of), sort))
  const records = query.data?.pages.flatMap((p) => p.rows)
  return (
    <List
      dataset={dataset}
      records={records}
      error={query.error}
      busy={query.isFetching || count === undefined}
      next={Math.min(pageSize, (count ?? 0) - (records?.length ?? 0))}
      load={() => void query.fetchNextPage({ cancelRefetch: false })}
    />
  )
}

interface ListProps {
  dataset: Dataset
  records: AnyRecord[] | undefined
  error: Error | null
  busy: boolean
  /** How many records the next load reads. */
  next: number
  load: () => void
}

function List({ dataset, records, error, busy, next, load }: ListProps) {
  const list = useRef<HTMLUListElement>(null)
  const focusNext = useFocusAfter((before) => list.current?.querySelectorAll('a')[before], records?.length ?? 0)
  if (next === 0 && !records?.length && !busy) return <p className="quiet">None are known.</p>
  return (
    <>
      {records && (
        <ul ref={list} className={dataset === 'signals' ? 'list timeline' : 'list'}>
          {records.map((r) => (
            <Item key={r.id} dataset={dataset} record={r} />
          ))}
        </ul>
      )}
      {error && <Notice error={error} retry={load} price={next} />}
      {next > 0 && !error && (
        <button
          className="button"
          disabled={busy}
          onClick={() => {
            focusNext()
            load()
          }}
        >
          Show {formatNumber(next)} {records ? 'more ' : ''}
          {next === 1 ? nouns[dataset].one : nouns[dataset].many} · {credits(next)}
        </button>
      )}
    </>
  )
}

function Item({ dataset, record }: { dataset: Dataset; record: AnyRecord }) {
  return (
    <li>
      {dataset === 'signals' && <time>{formatDay((record as Records['signals']).occurred_at)}</time>}
      <a {...link(format({ dataset, record: record.id, query: '', conditions: {} }))}>{nameOf(record)}</a>
      <span className="quiet">{about(dataset, record)}</span>
    </li>
  )
}

/** about is one line on a record, after its name. */
function about(dataset: Dataset, record: AnyRecord): string {
  const pretty = (...parts: (string | null)[]) => parts.filter(Boolean).join(' · ').replaceAll('_', ' ')
  switch (dataset) {
    case 'projects': {
      const r = record as Records['projects']
      return pretty(r.stage, r.primary_use, r.cost === null ? null : formatNumber(r.cost))
    }
    case 'accounts': {
      const r = record as Records['accounts']
      return pretty(r.account_types.join(', '), `${r.projects_count} projects`)
    }
    case 'contacts': {
      const r = record as Records['contacts']
      return pretty(r.title ?? r.role, r.account_name)
    }
    case 'signals':
      return '' // its title begins with what happened
  }
}
