import { useQueryClient, useQuery, type QueryKey, type UseQueryOptions } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Page, Rows } from '../api/pages'
import { batchQuery, findLoaded } from '../api/queries'
import { maxFirms, toCallQuery, type Names } from '../api/related-names'
import { counted, nouns, type AnyRecord, type Dataset } from '../datasets'
import { credits } from '../format'
import { maxNamed, valueOf, type Column } from '../search/columns'
import { useSearch } from '../search/context'
import { namedBy } from '../search/names'
import { retryLabel } from '../ui/notice'
import { useNarrow } from '../ui/use-narrow'
import { useColumns } from './use-columns'

/** How many records one request reads by their ids. */
const batchSize = 100

/** How many columns a card of a narrow page has. */
const cardColumns = 4

/** LoadNames offers to load the missing names of the columns, for a credit each. */
export function LoadNames({ rows }: { rows: Rows }) {
  const { columns, names } = useColumns()
  const narrow = useNarrow()
  // A card has the first columns only.
  return (narrow ? columns.slice(0, cardColumns) : columns)
    .filter((c) => c.kind === 'ids' || c.kind === 'person')
    .map((c) => <LoadColumnNames key={c.key} column={c} rows={rows} names={names} />)
}

interface Props {
  column: Column
  rows: Rows
  names: Names
}

function LoadColumnNames({ column, rows, names }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const toCall = column.kind === 'person'
  const dataset: Dataset = toCall ? 'contacts' : (namedBy(column.key) ?? 'accounts')
  const ids = useMemo(
    () => (toCall ? firmsWithoutContact(rows, names) : unnamedIds(rows, column.key, names)),
    [rows, column.key, toCall, names],
  )
  const paid = toCall ? 0 : ids.filter((id) => findLoaded(client, workspace.id, dataset, id)).length
  const options = toCall ? toCallQuery(workspace.id, ids) : batchQuery(workspace.id, dataset, ids)
  const query = useQuery(options as UseQueryOptions<AnyRecord[], Error, AnyRecord[], QueryKey>)
  if (ids.length === 0) return null
  const price = ids.length - paid
  const what = toCall
    ? `Name whom to call at ${ids.length === 1 ? 'this firm' : counted(ids.length, 'accounts')}`
    : `Name ${ids.length === 1 ? `this ${nouns[dataset].one}` : counted(ids.length, dataset)}`
  return (
    <button
      className="button"
      title={`The column ${column.label}. What is gone costs nothing`}
      disabled={query.isFetching}
      onClick={() => void query.refetch()}
    >
      {query.error ? retryLabel(price) : `${what} · ${toCall ? 'up to ' : ''}${credits(price)}`}
    </button>
  )
}

/** The ids in the cells of a page, by column, cached, so that pages are unpacked once for them. */
const named = new WeakMap<Page, Map<string, string[]>>()

function namedOn(page: Page, key: string): string[] {
  const byKey = named.get(page) ?? new Map<string, string[]>()
  named.set(page, byKey)
  const found = byKey.get(key) ?? page.rows.flatMap((r) => ((valueOf(r, key) ?? []) as string[]).slice(0, maxNamed))
  byKey.set(key, found)
  return found
}

/** unnamedIds are ids of rows without a name yet, among those that cells name. */
function unnamedIds(rows: Rows, key: string, { records }: Names): string[] {
  const found = new Set<string>()
  for (const page of rows.pages) {
    for (const id of namedOn(page, key)) if (!records.has(id)) found.add(id)
    if (found.size >= batchSize) break
  }
  return [...found].slice(0, batchSize)
}

const firmsWithoutContact = (rows: Rows, { toCall }: Names): string[] =>
  rows
    .ids()
    .filter((id) => !toCall.has(id))
    .slice(0, maxFirms)
