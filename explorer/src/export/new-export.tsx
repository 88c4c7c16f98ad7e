import { useMutation, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { go, link } from '../address'
import { answer, api, type Schemas } from '../api/client'
import { outdatedQuery } from '../api/outdated'
import { Rows } from '../api/pages'
import { creditsQuery, findLoaded, rowsQuery, sessionQuery, type Descriptor } from '../api/queries'
import { nouns, type Dataset } from '../datasets'
import { namesIn } from '../api/related-names'
import { credits, formatNumber } from '../format'
import { mostNamed, nameOf } from '../search/columns'
import { inPlace } from '../search/in-place'
import { routeOf } from '../source'
import { columnsOf, defaultKeys, tableOf } from '../table/fields'
import { Notice } from '../ui/notice'
import type { Format } from './format'
import { joinedColumns, recordsJoined } from './join'
import { idsOf, namesOf } from './names'
import { headOf, inOrder, peopleOf, withJoined } from './people'
import { newExport } from './runner'
import type { Called, Known, Source } from './store'

/** useCount counts the rows of a search exactly, which is free. */
export function useCount(workspace: string, { dataset, body, ids }: Source, wanted = true) {
  return useQuery({
    queryKey: ['export-count', workspace, dataset, body],
    enabled: !ids && wanted,
    queryFn: async ({ signal }) => {
      const { source, ...conditions } = body
      const request = api.POST(`${routeOf(dataset, source)}/search` as '/data/projects/search', {
        params: { query: { workspace_id: workspace } },
        body: { ...conditions, limit: 1, dry_run: true } as Schemas['ProjectSearchRequest'],
        signal,
      })
      return ((await answer(request)).data as unknown as Schemas['DryRunData']).count
    },
  })
}

const formats: { format: Format; label: string; text: string }[] = [
  { format: 'csv', label: 'CSV', text: 'for spreadsheets' },
  { format: 'ndjson', label: 'NDJSON', text: 'for programs; each record as Atlas has it, one a line' },
]

interface Props {
  workspace: string
  source: Source
  /** The id of the export, if it already exists. */
  id?: string
  /** Address of the search. */
  back: string
  /** The name of the exported View or search. */
  name?: string | undefined
  /** The visible columns of the table. */
  inSight?: string[]
  descriptors: Descriptor[]
}

/** NewExport asks for the options of the file, shows the price, and begins. */
export function NewExport({ workspace, source, id, back, name, inSight, descriptors }: Props) {
  const client = useQueryClient()
  const { dataset } = source
  const table = tableOf({ dataset, source: source.body.source })
  const user = useQuery(sessionQuery).data
  const window = useQuery(creditsQuery).data
  const count = useCount(workspace, source)
  const [format, setFormat] = useState<Format>('csv')
  const [excel, setExcel] = useState(false)
  const [formulas, setFormulas] = useState(false)
  const [forPeople, setForPeople] = useState(true)
  const [named, setNamed] = useState(false)
  const [join, setJoin] = useState(false)
  // A row of a join is a firm of a search with a project and a person.
  const joinable = dataset === 'accounts' && !source.ids && source.body.source?.kind !== 'view'
  const joins = join && joinable && format === 'csv'
  const all = joins ? [...columnsOf(table), ...joinedColumns] : columnsOf(table)
  const [left, setLeft] = useState<string[]>([])
  const [first, setFirst] = useState<string>()
  const whole = useMemo(() => wholeOf(client, workspace, source), [client, workspace, source])
  const ids = joins ? undefined : (source.ids ?? whole?.ids)
  const known = useMemo(
    () => (ids ? (whole?.known ?? loaded(client, workspace, dataset, ids)) : {}),
    [client, workspace, dataset, ids, whole],
  )

  const matches = ids ? ids.length : count.data
  // Counts do not search e-mail addresses.
  const uncounted = dataset === 'contacts' && !ids && (source.body.query ?? '').includes('@')
  const most = first === undefined ? undefined : Math.floor(Number(first))
  const rows = Math.min(matches ?? 0, most ?? Infinity)
  const price = ids ? ids.slice(0, rows).filter((i) => !known[i]).length : rows * (joins ? recordsJoined : 1)
  const columns = all.filter((c) => !left.includes(c))
  const nameable = joins ? [] : namesOf(columns)
  const names = named && format === 'csv' ? nameable : []
  const upTo = joins || names.length > 0
  const forNames = useMostNames(workspace, names, rows)
  const begin = useMutation({
    mutationFn: async () => {
      const plan = {
        id: id ?? crypto.randomUUID(),
        user: user?.id ?? '',
        workspace,
        dataset,
        format,
        ...(name ? { name } : {}),
        columns:
          format !== 'csv'
            ? []
            : forPeople
              ? // Names replace ids.
                inOrder(table, inSight ?? defaultKeys(table), columns).map(
                  (c) => names.find((n) => idsOf(n)?.ids === c) ?? c,
                )
              : [...columns, ...names],
        ...(format === 'csv' && { excel, formulas }),
        ...(format === 'csv' && forPeople
          ? { people: joins ? withJoined(peopleOf(table, descriptors), descriptors) : peopleOf(table, descriptors) }
          : {}),
        ...(joins ? { join: true as const } : {}),
        total: uncounted && most ? most : rows,
        capped: !uncounted || most !== undefined,
      }
      const called = [...namesIn(client, workspace).records].map(([key, r]): Called[0] => [key, r && nameOf(r)])
      await newExport(client, plan, ids ? { ...source, ids } : source, known, names.length > 0 ? called : [])
      go(`/export/${plan.id}`, { replace: true })
    },
  })

  if (count.error) return <Notice error={count.error} retry={() => void count.refetch()} />
  if (matches === 0 && !uncounted) {
    return (
      <div className="notice">
        <h2>Nothing to export</h2>
        <p>No {nouns[dataset].one} matches this search.</p>
        <a className="button" {...link(back)}>
          Back to the search
        </a>
      </div>
    )
  }
  const invalid = (format === 'csv' && columns.length === 0) || (most !== undefined && !(most >= 1))
  return (
    <form
      className="new-export"
      onSubmit={(e) => {
        e.preventDefault()
        if (!invalid) begin.mutate()
      }}
    >
      <fieldset>
        <legend>Format</legend>
        {formats.map((f) => (
          <label key={f.format} className="choice">
            <input type="radio" name="format" checked={format === f.format} onChange={() => setFormat(f.format)} />
            <span>
              <b>{f.label}</b> <span className="quiet">{f.text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {format === 'csv' && (
        <fieldset>
          <legend>CSV</legend>
          <label className="choice">
            <input type="checkbox" checked={forPeople} onChange={() => setForPeople(!forPeople)} />
            <span>
              <b>For people</b>{' '}
              <span className="quiet">names, days and the order of columns as in the table, not as in the API</span>
            </span>
          </label>
          {joinable && (
            <label className="choice">
              <input type="checkbox" checked={join} onChange={() => setJoin(!join)} />
              <span>
                <b>With project and person</b>{' '}
                <span className="quiet">
                  beside each firm the dearest project that the search asks for and the person to call; a credit for
                  each
                </span>
              </span>
            </label>
          )}
          {nameable.length > 0 && (
            <label className="choice">
              <input type="checkbox" checked={named} onChange={() => setNamed(!named)} />
              <span>
                <b>Names of firms and people</b>{' '}
                <span className="quiet">
                  of up to {mostNamed} a row, in columns of their own; a credit for each firm or person, once
                </span>
              </span>
            </label>
          )}
          <label className="choice">
            <input type="checkbox" checked={excel} onChange={() => setExcel(!excel)} />
            <span>
              <b>For Excel</b> <span className="quiet">a mark at the beginning says that the text is UTF-8</span>
            </span>
          </label>
          <label className="choice">
            <input type="checkbox" checked={formulas} onChange={() => setFormulas(!formulas)} />
            <span>
              <b>Keep formulas</b>{' '}
              <span className="quiet">otherwise a text that looks like one gets a ’ in front, so that none runs</span>
            </span>
          </label>
        </fieldset>
      )}
      <fieldset>
        <legend>Rows</legend>
        <label className="choice">
          <input type="radio" name="rows" checked={first === undefined} onChange={() => setFirst(undefined)} />
          <span>All{matches === undefined ? '' : ` ${formatNumber(matches)}`}</span>
        </label>
        <div className="choice">
          <input
            type="radio"
            name="rows"
            id="some"
            checked={first !== undefined}
            onChange={() => setFirst(String(Math.min(1000, matches ?? 1000)))}
          />
          <label htmlFor="some">The first</label>
          <input
            type="number"
            aria-label="How many rows"
            min={1}
            value={first ?? ''}
            placeholder="1000"
            onFocus={() => first === undefined && setFirst(String(Math.min(1000, matches ?? 1000)))}
            onChange={(e) => setFirst(e.target.value)}
          />
        </div>
      </fieldset>
      {format === 'csv' && (
        <fieldset>
          <legend>
            Columns{' '}
            <span className="quiet">
              {columns.length} of {all.length}
            </span>
          </legend>
          <p className="actions">
            <button type="button" className="link" onClick={() => setLeft([])}>
              All
            </button>
            <button type="button" className="link" onClick={() => setLeft(all)}>
              None
            </button>
          </p>
          <div className="columns-choice">
            {all.map((c) => (
              <label key={c}>
                <input
                  type="checkbox"
                  checked={!left.includes(c)}
                  onChange={() => setLeft(left.includes(c) ? left.filter((l) => l !== c) : [...left, c])}
                />
                <span>{forPeople ? headOf(table, c) : c}</span>
              </label>
            ))}
          </div>
        </fieldset>
      )}
      {window && price + forNames > window.remaining && (
        <p className="warning">
          {window.remaining === 0 ? 'No credits are' : `Only ${credits(window.remaining)} are`} left. The export waits
          when they are used up, and goes on when they return.
        </p>
      )}
      {uncounted && <p className="warning">E-mail addresses are not counted: there may be more rows than this.</p>}
      <div className="actions">
        <button className="button primary" disabled={invalid || matches === undefined || begin.isPending || !user}>
          {matches === undefined
            ? 'Counting…'
            : uncounted
              ? `Export · ${joins ? 'up to 3 credits' : '1 credit'} a row`
              : `Export ${formatNumber(rows || 0)} ${rows === 1 ? 'row' : 'rows'} · ${upTo ? 'up to ' : ''}${credits((price || 0) + forNames)}`}
        </button>
        <a className="button" {...link(back)}>
          Back to the search
        </a>
        {window && <span className="quiet">{credits(window.remaining)} left</span>}
      </div>
      {ids && price < rows && (
        <p className="quiet">{formatNumber(rows - price)} of these rows are loaded already and cost nothing.</p>
      )}
      {begin.error && <p className="problem">This browser cannot keep the file: {begin.error.message}.</p>}
      <p className="quiet">
        You can go on working, and pause or reload: what is written is kept in this browser and not paid for again.
      </p>
    </form>
  )
}

/** useMostNames is the maximum price of name columns, in credits: no record is read twice. */
function useMostNames(workspace: string, columns: string[], rows: number): number {
  const has = (dataset: Dataset) => columns.some((c) => idsOf(c)?.dataset === dataset)
  const firms = useCount(workspace, { dataset: 'accounts', body: {} }, has('accounts')).data
  const people = useCount(workspace, { dataset: 'contacts', body: {} }, has('contacts')).data
  const most = (dataset: Dataset, count = Infinity) => (has(dataset) ? Math.min(mostNamed * rows, count) : 0)
  return most('accounts', firms) + most('contacts', people)
}

/** wholeOf are the rows of a search, in its order, if all are loaded and none has changed since. */
function wholeOf(client: QueryClient, workspace: string, { dataset, body, sort, ids }: Source) {
  if (ids) return undefined
  const now = { body, sort }
  const { queryKey } = rowsQuery(workspace, dataset, body, sort)
  const read = client.getQueryData(queryKey)
  const data = read?.pages.at(-1)?.next === undefined ? read : undefined
  const rows = new Rows((data ?? inPlace(client, workspace, dataset, now))?.pages ?? [])
  const changed = client.getQueryData(outdatedQuery(workspace, dataset).queryKey)
  if (rows.length === 0 || rows.ids().some((id) => changed?.has(id))) return undefined
  const known: Known = Object.fromEntries(rows.pages.flatMap((p) => p.rows.map((r) => [r.id, r])))
  return { ids: rows.ids(), known }
}

/** loaded are the records that are already paid for. */
function loaded(client: QueryClient, workspace: string, dataset: Source['dataset'], ids?: string[]) {
  const known: Known = {}
  const changed = client.getQueryData(outdatedQuery(workspace, dataset).queryKey)
  for (const id of ids ?? []) {
    const record = changed?.has(id) ? undefined : findLoaded(client, workspace, dataset, id)
    if (record) known[id] = record
  }
  return known
}
