import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { pageSize, rowsQuery } from '../api/queries'
import { Rows } from '../api/pages'
import { credits, formatNumber } from '../format'
import { useSearch } from '../search/context'
import { defaults } from './choice'
import { Chooser } from './chooser'
import { tableOf } from './fields'
import { Grid } from './grid'
import { countOf, isPicked, nothing, recordsOf, type Selection } from './selection'
import { tryAgain } from '../ui/notice'
import { SelectionBar } from './selection-bar'
import { SortMenu } from './sort-menu'
import { useNarrow } from '../ui/use-narrow'
import { useColumns } from './use-columns'

interface Props {
  /** Identifies the search. */
  name: string
  /** How many records match, as far as that is counted. */
  count: number | undefined
}

/** Table shows the rows that were loaded, and loads more. */
export function Table({ name, count }: Props) {
  const { workspace, state, body } = useSearch()
  const { dataset } = state
  const query = useInfiniteQuery(rowsQuery(workspace.id, dataset, body, state.sort))
  const rows = useMemo(() => new Rows(query.data?.pages ?? []), [query.data])
  // Counts do not search e-mail addresses, so rows may be more.
  const total = query.hasNextPage ? Math.max(count ?? 0, rows.length) : rows.length
  const price = Math.min(pageSize, total - rows.length || pageSize)
  const more = () => {
    if (!query.isFetching) void query.fetchNextPage({ cancelRefetch: false })
  }

  const narrow = useNarrow()
  const { chosen, choose } = useColumns()

  const [picked, setPicked] = useState(nothing)
  const selected = countOf(picked, total)
  const ids = useMemo(
    () => (selected > 0 ? rows.ids().filter((id) => isPicked(picked, id)) : []),
    [rows, picked, selected],
  )
  const selection: Selection = {
    dataset,
    count: selected,
    ids,
    records: () => recordsOf(rows, ids),
    columns: (state.columns ?? defaults(tableOf(state))).map((c) => c.key),
    clear: () => setPicked(nothing),
  }

  const [reading, setReading] = useState(false)
  const stopped = useRef(false)
  useEffect(() => {
    stopped.current = false
    return () => {
      stopped.current = true
    }
  }, [])
  const readRest = async () => {
    stopped.current = false
    setReading(true)
    let next = true
    while (next && !stopped.current) {
      const { hasNextPage, isError } = await query.fetchNextPage({ cancelRefetch: false })
      next = hasNextPage && !isError
    }
    setReading(false)
  }
  return (
    <>
      <Grid
        name={name}
        rows={rows}
        total={total}
        loading={query.isFetchingNextPage}
        picked={picked}
        pickedRows={ids.length}
        onPick={setPicked}
        onEnd={query.hasNextPage && !query.isFetchNextPageError ? more : undefined}
      />
      {selected > 0 && (
        <SelectionBar
          selection={selection}
          picked={picked}
          onPick={setPicked}
          loaded={rows.length}
          total={total}
          readRest={() => void readRest()}
          busy={reading}
          stop={() => {
            stopped.current = true
          }}
        />
      )}
      <footer className="foot">
        <span>
          <b>{formatNumber(rows.length)}</b> of {count === undefined && query.hasNextPage ? '…' : formatNumber(total)}{' '}
          loaded
        </span>
        <SortMenu />
        {narrow && <Chooser chosen={chosen} choose={choose} narrow />}
        {query.error ? (
          <span className="problem" role="alert">
            The next rows did not come: {query.error.message}.
          </span>
        ) : null}
        {query.hasNextPage && (
          <button className="button" disabled={query.isFetching} onClick={more}>
            {query.error ? tryAgain(price) : `Show ${formatNumber(price)} more · ${credits(price)}`}
          </button>
        )}
      </footer>
    </>
  )
}
