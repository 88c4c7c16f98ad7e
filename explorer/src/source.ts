import { books, type Book } from './api/book'
import { datasets, rail, type Dataset, type RailField } from './datasets'

/** Source is where a search looks if not in all of Data: the workspace's book, or a View. */
export type Source =
  | { kind: 'book' }
  /** The definition of a Dynamic View is part of it: rows and counts of another definition differ. */
  | { kind: 'view'; id: string; definition?: string }

/** Scope is the part of a search in the path of the address. */
export interface Scope {
  dataset: Dataset
  /** All of Data if absent. */
  source?: Source
  /** The record in the drawer. */
  record?: string
}

/** scopeOf reads a path: /projects/record, /book/projects/record or /views/view/record. A View's dataset is not in it. */
export function scopeOf(path: string, ofView?: Dataset): Scope {
  const [first, second, third] = path.split('/').slice(1)
  const named = (all: readonly Dataset[], name: string | undefined) => all.find((d) => d === name) ?? 'projects'
  const withRecord = (scope: Scope, record: string | undefined) => (record ? { ...scope, record } : scope)
  if (first === 'book') return withRecord({ dataset: named(books, second), source: { kind: 'book' } }, third)
  if (first === 'views' && second && ofView) {
    return withRecord({ dataset: ofView, source: { kind: 'view', id: second } }, third)
  }
  return withRecord({ dataset: named(datasets, first) }, second)
}

/** pathOf is the inverse of scopeOf. */
export function pathOf({ dataset, source, record }: Scope): string {
  const path = !source ? `/${dataset}` : source.kind === 'book' ? `/book/${dataset}` : `/views/${source.id}`
  return record ? `${path}/${record}` : path
}

/** routeOf is the API route that searches and counts a dataset. */
export function routeOf(dataset: Dataset, source: Source | undefined): string {
  if (!source) return `/data/${dataset}`
  return source.kind === 'book' ? `/workspace/${dataset}` : `/workspace/views/${encodeURIComponent(source.id)}/records`
}

/** How many facets a request takes. */
const maxFacets = 12

const shared: RailField[] = [
  { key: 'workspace_status', kind: 'values' },
  { key: 'tags', kind: 'values' },
]
const scores: RailField['ranges'] = [0, 20, 40, 60, 80].map((from) => [from, from === 80 ? 100 : from + 19])

/** own are the facets of annotations. */
const own: Record<Book, RailField[]> = {
  projects: shared,
  accounts: [
    ...shared,
    { key: 'icp_tier', kind: 'values' },
    { key: 'atlas_score', kind: 'number', ranges: scores },
    { key: 'updated_at', kind: 'date' },
  ],
  contacts: [...shared, { key: 'updated_at', kind: 'date' }],
}

/** bookOf is the book with the records of a dataset: there is none of signals. */
export const bookOf = (dataset: Dataset): Book | undefined => books.find((b) => b === dataset)

/** ownOf lists the facets of annotations; Data has none. */
export function ownOf({ dataset, source }: Scope): RailField[] {
  const book = source && bookOf(dataset)
  return book ? own[book] : []
}

/** railOf lists the facets of a search. */
export const railOf = (scope: Scope): RailField[] => [...ownOf(scope), ...rail[scope.dataset]].slice(0, maxFacets)

/** isOwn reports whether a field is an annotation: a condition on it finds records of the book only. */
export const isOwn = (key: string) =>
  ['workspace_status', 'tags', 'notes', 'icp_tier', 'atlas_score', 'updated_at'].includes(key)

/** placeName continues a count: "12 projects in your book". */
export const placeName = (source: Source | undefined): string =>
  !source ? '' : source.kind === 'book' ? 'in your book' : 'in this View'
