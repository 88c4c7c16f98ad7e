import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import { batchQuery, findLoaded } from '../api/queries'
import { maxIncluded } from '../api/related'
import { link } from '../address'
import { capital, counted, nouns, type AnyRecord, type Dataset, type Records } from '../datasets'
import { credits, formatDay, formatNumber } from '../format'
import { nameOf } from '../search/columns'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { Notice } from '../ui/notice'
import { useFocusAfter } from '../ui/use-focus-after'
import { offerOf, relationsOf, type FilterGroup, type IdGroup } from './relations'
import { useGroups, useRelatedRows } from './use-related'

/** Related has the related records by tab. Their counts are free, and one credit reads all of them, 25 of each. */
export function Related({ dataset, record }: { dataset: Dataset; record: AnyRecord }) {
  const { groups, ...reading } = useGroups(dataset, record.id, relationsOf(dataset, record))
  const [at, setAt] = useState(0)
  const id = useId()
  const chosen = groups[at]
  const offer = { ...reading, text: offerOf(groups) }
  return (
    <section className="related">
      <div
        role="tablist"
        aria-label="Related records"
        onKeyDown={(e) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]
          if (!step) return
          e.preventDefault()
          const next = (at + step + groups.length) % groups.length
          setAt(next)
          document.getElementById(`${id}-${next}`)?.focus()
        }}
      >
        {groups.map((g, i) => (
          <button
            key={g.dataset}
            id={`${id}-${i}`}
            role="tab"
            aria-selected={i === at}
            aria-controls={`${id}-panel`}
            tabIndex={i === at ? 0 : -1}
            onClick={() => setAt(i)}
          >
            {capital(nouns[g.dataset].many)} <span className="count">{g.count ?? '…'}</span>
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at}`}>
        {chosen && 'ids' in chosen && <ByIDs key={at} group={chosen} offer={offer} />}
        {chosen && 'key' in chosen && <ByFilter key={at} group={chosen} of={record.id} offer={offer} />}
      </div>
    </section>
  )
}

/** Offer is the offer to read the record's included records. */
interface Offer {
  text: string
  load: () => void
  busy: boolean
  error: Error | null
}

function ByIDs({ group, offer }: { group: IdGroup; offer: Offer }) {
  const { workspace } = useSearch()
  const { dataset, ids, included } = group
  const firstIds = ids.slice(0, 100)
  const client = useQueryClient()
  const found = firstIds.flatMap((id) => findLoaded(client, workspace.id, dataset, id) ?? [])
  const query = useQuery(batchQuery(workspace.id, dataset, firstIds))
  const records = query.data ?? (found.length > 0 ? found : included)
  const missing = firstIds.length - found.length
  if (!included && !query.data && missing > 0) {
    return <List dataset={dataset} records={records} {...offer} next={1} />
  }
  // Included records are complete: a missing one is deleted.
  const next = query.data || ids.length <= maxIncluded ? 0 : missing
  return (
    <List
      dataset={dataset}
      records={records}
      error={query.error}
      busy={query.isFetching}
      next={next}
      text={`Show ${counted(next, dataset)} more · ${credits(next)}`}
      load={() => void query.refetch()}
    />
  )
}

function ByFilter({ group, of, offer }: { group: FilterGroup; of: string; offer: Offer }) {
  const { dataset, key, count } = group
  const { query, records, next, begun } = useRelatedRows(group, of)
  if (!records) {
    if (count === 0) return <List dataset={dataset} records={[]} {...offer} next={0} />
    return <List dataset={dataset} records={undefined} {...offer} busy={offer.busy || count === undefined} next={1} />
  }
  const more = begun ? `Show ${formatNumber(next)} more` : `Read the first ${formatNumber(next)} by a search`
  return (
    <>
      <List
        dataset={dataset}
        records={records}
        error={query.error}
        busy={query.isFetching || count === undefined}
        next={next}
        text={`${more} · ${credits(next)}`}
        load={() => void query.fetchNextPage({ cancelRefetch: false })}
      />
      {next > 0 && (
        <p className="quiet">
          <a {...link(format({ dataset, query: '', conditions: { [key]: { kind: 'values', values: [of] } } }))}>
            All {counted(count ?? 0, dataset)} as a search
          </a>
        </p>
      )}
    </>
  )
}

interface ListProps {
  dataset: Dataset
  records: AnyRecord[] | undefined
  error: Error | null
  busy: boolean
  /** The maximum price of the next load, in credits; 0: there is none. */
  next: number
  /** The label of the button. */
  text: string
  load: () => void
}

function List({ dataset, records, error, busy, next, text, load }: ListProps) {
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
          {text}
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
