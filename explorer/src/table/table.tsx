import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { pageSize, reloadRecords } from '../api/queries'
import { outdatedQuery } from '../api/outdated'
import { Rows } from '../api/pages'
import { credits, formatMoment, formatNumber } from '../format'
import { useSearch } from '../search/context'
import { useRows, type PreviousRows } from '../search/use-rows'
import { retryLabel } from '../ui/notice'
import { useNarrow } from '../ui/use-narrow'
import { defaults } from './choice'
import { Chooser } from './chooser'
import { personToCall, tableOf } from './fields'
import { Grid } from './grid'
import { countOf, isPicked, nothing, pick, recordsOf, type Picked, type Selection } from './selection'
import { LoadNames } from './load-names'
import { SelectionBar } from './selection-bar'
import { orderOf } from './sort'
import { SortMenu } from './sort-menu'
import { useColumns } from './use-columns'

interface Props {
  /** How many records match, as far as that is counted. */
  count: number | undefined
  /** The rows of the previous search, in place of those of this one. */
  previous: PreviousRows | undefined
}

/** Table shows the loaded rows, and loads more. */
export function Table({ count, previous }: Props) {
  const { state, body } = useSearch()
  const { dataset } = state
  const { query, isDerived } = useRows()
  const loaded = useMemo(() => new Rows(query.data?.pages ?? []), [query.data])
  const rows = previous?.rows ?? loaded
  // The rows of the same search and order.
  const name = JSON.stringify([
    dataset,
    previous?.of.body ?? body,
    previous ? previous.of.sort : state.sort,
    previous?.previousCount,
  ])
  const hasNext = !previous && query.hasNextPage
  // Counts do not search e-mail addresses, so rows may be more.
  const total = hasNext ? Math.max(count ?? 0, rows.length) : rows.length
  const more = () => {
    if (!query.isFetching) void query.fetchNextPage({ cancelRefetch: false })
  }
  const { picked, setPicked, selection } = useSelection(name, rows, total)
  const readAll = useReadAll(async () => {
    const { hasNextPage, isError } = await query.fetchNextPage({ cancelRefetch: false })
    return hasNextPage && !isError
  })
  return (
    <>
      <Grid
        name={name}
        rows={rows}
        sort={previous ? orderOf({ ...state, ...sortOf(previous) }) : orderOf(state)}
        total={total}
        loading={query.isFetchingNextPage}
        picked={picked}
        pickedRows={selection.ids.length}
        onPick={setPicked}
        onEnd={hasNext && !query.isFetchNextPageError ? more : undefined}
      />
      {selection.count > 0 && (
        <SelectionBar
          selection={selection}
          picked={picked}
          onPick={setPicked}
          loaded={rows.length}
          total={total}
          readRest={readAll.begin}
          busy={readAll.busy}
          stop={readAll.stop}
        />
      )}
      <footer className="foot">
        {previous ? (
          <span>
            <b>{formatNumber(rows.length)}</b>{' '}
            {previous.previousCount ? `of ${formatNumber(previous.previousCount)} ` : ''}loaded before
          </span>
        ) : (
          <span title={readOf(rows)}>
            <b>{formatNumber(rows.length)}</b> of {count === undefined && hasNext ? '…' : formatNumber(total)} loaded
            {isDerived && ', arranged here for nothing'}
          </span>
        )}
        <SortMenu applied={!previous} />
        <NarrowChooser />
        {!previous && query.error ? (
          <span className="problem" role="alert">
            The next rows did not come: {query.error.message}.
          </span>
        ) : null}
        <LoadNames rows={rows} />
        <Outdated rows={rows} />
        {hasNext && <More price={Math.min(pageSize, total - rows.length || pageSize)} query={query} more={more} />}
        {isDerived && count !== undefined && count !== rows.length && (
          <button className="button" disabled={query.isFetching} onClick={() => void query.refetch()}>
            {formatNumber(count)} match by now. Load them anew · {credits(Math.min(pageSize, count))}
          </button>
        )}
      </footer>
    </>
  )
}

const sortOf = ({ of: { sort } }: PreviousRows) => ({ sort }) as { sort?: NonNullable<typeof sort> }

/** readOf is when rows were read, and from which release. */
function readOf(rows: Rows): string | undefined {
  const first = rows.pages[0]?.read
  return first && `Read at ${formatMoment(new Date(first.at))}${first.release ? ` · release ${first.release}` : ''}`
}

/** Outdated says how many of the rows have changed since they were read. */
function Outdated({ rows }: { rows: Rows }) {
  const { workspace, state } = useSearch()
  const { data: changed } = useQuery(outdatedQuery(workspace.id, state.dataset))
  const count = changed.size === 0 ? 0 : rows.ids().filter((id) => changed.has(id)).length
  const client = useQueryClient()
  const reload = useMutation(reloadRecords(client, workspace.id, state.dataset))
  if (count === 0) return null
  const ids = rows.ids().filter((id) => changed.has(id))
  return (
    <span role="status">
      {formatNumber(count)} of these {count === 1 ? 'has' : 'have'} changed since.{' '}
      {!state.source && (
        <button className="link" disabled={reload.isPending} onClick={() => reload.mutate(ids.slice(0, 100))}>
          {reload.error ? retryLabel(Math.min(count, 100)) : `Read again · up to ${credits(Math.min(count, 100))}`}
        </button>
      )}
    </span>
  )
}

interface MoreProps {
  price: number
  query: { error: Error | null; isFetching: boolean }
  more: () => void
}

function More({ price, query, more }: MoreProps) {
  return (
    <button className="button" disabled={query.isFetching} onClick={more}>
      {query.error ? retryLabel(price) : `Show ${formatNumber(price)} more · ${credits(price)}`}
    </button>
  )
}

/** NarrowChooser chooses the columns where there is no header. */
function NarrowChooser() {
  const { chosen, choose } = useColumns()
  return useNarrow() ? <Chooser chosen={chosen} choose={choose} narrow /> : null
}

/** useSelection is the selection of rows. When the rows change, those that were selected stay selected. */
function useSelection(name: string, rows: Rows, total: number) {
  const { state } = useSearch()
  const [picked, setPicked] = useState(nothing)
  const [of, setOf] = useState(name)
  if (of !== name) {
    setOf(name)
    setPicked(restrictedTo(picked, rows))
  }
  const count = countOf(picked, total)
  const ids = useMemo(() => (count > 0 ? rows.ids().filter((id) => isPicked(picked, id)) : []), [rows, picked, count])
  const selection: Selection = {
    dataset: state.dataset,
    count,
    ids,
    records: () => recordsOf(rows, ids),
    columns: (state.columns ?? defaults(tableOf(state))).map((c) => c.key).filter((key) => key !== personToCall),
    clear: () => setPicked(nothing),
  }
  return { picked, setPicked, selection }
}

const restrictedTo = (picked: Picked, rows: Rows): Picked =>
  picked.all || picked.ids.size === 0
    ? nothing
    : pick(
        nothing,
        rows.ids().filter((id) => picked.ids.has(id)),
        true,
      )

/** useReadAll reads page after page until one is the last, or until it is stopped. */
function useReadAll(readNext: () => Promise<boolean>) {
  const [busy, setBusy] = useState(false)
  const stopped = useRef(false)
  useEffect(() => {
    stopped.current = false
    return () => {
      stopped.current = true
    }
  }, [])
  const read = async () => {
    stopped.current = false
    setBusy(true)
    let next = true
    while (next && !stopped.current) next = await readNext()
    setBusy(false)
  }
  const stop = () => {
    stopped.current = true
  }
  return { busy, stop, begin: () => void read() }
}
