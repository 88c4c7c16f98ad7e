import type { Body } from '../api/body'
import { answer, api, type Schemas } from '../api/client'
import type { Sort } from '../api/queries'
import { routeOf } from '../source'
import { columnsOf, type TableName } from '../table/fields'
import { rows, sorts } from '../api/rows'
import { labelOf } from '../datasets'
import { elements, members } from './raw-json'
import type { Job, Page, ProjectBy } from './job'

// A row of firms with their projects and people is flat, like one of `atlas export --join`.

/** What the columns of joined records begin with. */
const joined = [
  { part: 'project', prefix: 'project_', table: 'projects' },
  { part: 'contact', prefix: 'contact_', table: 'contacts' },
] as const

/** joinedColumns are the columns of the project and the person of a firm, beside its own. */
export const joinedColumns: string[] = joined.flatMap(({ prefix, table }) => columnsOf(table).map((c) => prefix + c))

/** joinedOf is the record of a column; undefined for those of the firm. */
export function joinedOf(column: string): { part: 'project' | 'contact'; table: TableName; key: string } | undefined {
  if (!joinedColumns.includes(column)) return undefined
  const of = joined.find(({ prefix }) => column.startsWith(prefix))
  return of && { part: of.part, table: of.table, key: column.slice(of.prefix.length) }
}

const most: Partial<Record<string, string>> = {
  cost: 'the highest cost',
  residential_units: 'the most homes',
  sqft: 'the largest floor area',
  stories: 'the most stories',
  signals_count: 'the most signals',
}
const numbers = sorts.projects.filter((key) => rows.projects[key] === 'number')

/** projectWith says which project of a firm is in its row. */
export const projectWith = Object.fromEntries(
  [...Object.keys(most), ...numbers.filter((key) => !(key in most))].map((key) => [
    key,
    most[key] ?? `the most ${labelOf(key).toLowerCase()}`,
  ]),
) as Record<ProjectBy, string>

/** The maximum number of records of a row, each of which costs a credit. */
export const recordsJoined = 3

/** The largest page of a join, in firms. */
export const joinSize = 33

/** joinFields are the members that each record of a row needs for the columns of a file. */
export function joinFields(columns: string[]) {
  const of = (part: 'project' | 'contact' | undefined) => [
    'id',
    ...columns.flatMap((c) => {
      const other = joinedOf(c)
      return other?.part === part && (other?.key ?? c) !== 'id' ? [other?.key ?? c] : []
    }),
  ]
  return { fields: of(undefined), project_fields: of('project'), contact_fields: of('contact') }
}

/** flatRow is a row as one object. */
export function flatRow(row: string): string {
  const parts = members(row)
  const own = (raw = 'null', prefix = '') =>
    raw === 'null' ? [] : [...members(raw)].map(([key, value]) => `${JSON.stringify(prefix + key)}:${value}`)
  const all = [own(parts.get('account')), ...joined.map(({ part, prefix }) => own(parts.get(part), prefix))]
  return `{${all.flat().join(',')}}`
}

/** readJoin reads a page of firms, each with a project and a person. */
export async function readJoin(job: Job, { source, ...body }: Body, limit: number, sort: Sort): Promise<Page> {
  const text = await answer(
    api.POST(`${routeOf('accounts', source)}/join` as '/data/accounts/join', {
      params: { query: { workspace_id: job.workspace } },
      body: {
        ...body,
        ...joinFields(job.columns),
        ...(job.projectBy ? { project_by: job.projectBy } : {}),
        sort,
        limit: Math.min(limit, joinSize),
        ...(job.cursor ? { search_after: job.cursor } : {}),
      } as Schemas['AccountJoinRequest'],
      parseAs: 'text',
    }),
  )
  const page = members(text)
  const { search_after: next, credits } = JSON.parse(page.get('metadata') ?? '{}') as Schemas['PageMetadata']
  return { records: elements(page.get('data') ?? '[]').map(flatRow), credits, ...(next ? { next } : {}) }
}
