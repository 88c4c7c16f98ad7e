import type { Schemas } from '../api/client'
import type { Body } from '../api/body'
import { countable, isCountable } from '../api/countable'
import type { FieldFacet, PivotBy, PivotMeasure } from '../api/queries'
import { dimensionOf, measureOf as chartMeasureOf, type Dimension, type Interval } from '../charts/dimensions'
import { requestOf as chartRequest } from '../charts/points'
import { cellsRequest } from '../map/queries'
import { axesOf, axisOf, byOf, measureOf as pivotMeasureOf, type Axis } from '../pivot/axes'
import { rail, type Dataset } from '../datasets'
import type { KindOf } from '../search/conditions'
import type { SearchState } from '../search/state'
import type { Scope, Source } from '../source'
import { parseBody, textOf } from './parse-body'

export type Tile = Omit<Schemas['Tile'], 'request'> & { request: Record<string, unknown> }

/** Drawn is what a tile shows of its records. */
export type Drawn =
  | { kind: 'chart'; facet: FieldFacet }
  | { kind: 'pivot'; rows: PivotBy; columns?: PivotBy | null; measure?: PivotMeasure | null }
  | { kind: 'map'; precision: number }
  /** The number of a View's records. */
  | { kind: 'view' }

/** tileOf is the stored form of a search and its look; it explains what no board can store. */
export function tileOf(title: string, dataset: Dataset, body: Body, drawn: Drawn): Tile | { problem: string } {
  if (!isCountable(body)) return { problem: 'Conditions on e-mail addresses are not counted, so no board has them.' }
  const { source, ...conditions } = countable(body)
  return {
    kind: drawn.kind,
    // A title that the service truncates would be another one.
    title: [...title].slice(0, maxName).join(''),
    dataset,
    of: source?.kind ?? 'data',
    ...(source?.kind === 'view' ? { view_id: source.id } : {}),
    request: { ...conditions, ...requestOf(drawn) },
  }
}

/** The longest name of a board and title of a tile, in characters. */
export const maxName = 100

function requestOf(drawn: Drawn): Record<string, unknown> {
  switch (drawn.kind) {
    case 'chart':
      return { facets: [drawn.facet] }
    case 'map':
      return { facets: cellsRequest(drawn.precision) }
    case 'pivot': {
      const { rows, columns, measure } = drawn
      return { rows, ...(columns ? { columns } : {}), ...(measure ? { measure } : {}) }
    }
    case 'view':
      return {}
  }
}

type Request = Body & Omit<Drawn & { kind: 'pivot' }, 'kind'> & { facets?: FieldFacet[] } & Record<string, unknown>

/** parseTile is the inverse of tileOf. more are members of the request that no search of a page has. */
export function parseTile(tile: Tile): { body: Body; drawn: Drawn; more: Record<string, unknown> } {
  const { query, filters, relations, any, none, facets, rows, columns, measure, ...more } =
    tile.request as unknown as Request
  const source = sourceOf(tile)
  const body = {
    ...(source ? { source } : {}),
    ...(query ? { query } : {}),
    ...(filters ? { filters } : {}),
    ...(relations ? { relations } : {}),
    ...(any ? { any } : {}),
    ...(none ? { none } : {}),
  }
  const [facet] = facets ?? []
  switch (tile.kind) {
    case 'chart':
      return { body, more, drawn: { kind: 'chart', facet: facet ?? { field: '' } } }
    case 'map':
      return {
        body,
        more,
        drawn: { kind: 'map', precision: facet && 'geo' in facet ? (facet.geo as { precision: number }).precision : 0 },
      }
    case 'pivot':
      return {
        body,
        more,
        drawn: { kind: 'pivot', rows, ...(columns ? { columns } : {}), ...(measure ? { measure } : {}) },
      }
    case 'view':
      return { body, more, drawn: { kind: 'view' } }
  }
}

function sourceOf({ of, view_id }: Tile): Source | undefined {
  if (of === 'view') return { kind: 'view', id: view_id ?? '' }
  return of === 'book' ? { kind: 'book' } : undefined
}

/** scopeOfTile is where the records of a tile are. */
export function scopeOfTile(tile: Tile): Scope {
  const source = sourceOf(tile)
  return { dataset: tile.dataset, ...(source ? { source } : {}) }
}

/**
 * A search that finds the records of a tile, and the difference in its look; or the reason why no
 * address can express it.
 */
export type Search = { state: SearchState; other?: string } | { problem: string }

/** searchOf is the search that a tile links to: it finds the same records. */
export function searchOf(tile: Tile, kindOf: KindOf): Search {
  const { body, drawn, more } = parseTile(tile)
  if (more.words === 'exact') return { problem: 'It finds words exactly as typed, which searches here do not.' }
  if (more.typos === 'auto') return { problem: 'It also finds misspelt words, which searches here do not.' }
  const state = parseBody(body, scopeOfTile(tile), kindOf)
  if (!state) return { problem: 'It has conditions that the address of a search cannot say.' }
  switch (drawn.kind) {
    case 'chart':
      return withChart(state, drawn.facet)
    case 'pivot':
      return withPivot(state, drawn, kindOf)
    case 'map':
      return { state: { ...state, look: 'map' } }
    case 'view':
      return { state }
  }
}

const listed = 'The link lists its records: searches here have no such chart.'

function withChart(state: SearchState, facet: FieldFacet): Search {
  const by = textOfBy(facet)
  const of = facet.measure && `${facet.measure.of}:${facet.measure.field}`
  const dimension = dimensionOf(state, by)
  const measure = chartMeasureOf(state.dataset, of)
  const interval = 'interval' in facet ? facet.interval : undefined
  if (dimension.key !== facet.field || dimension.interval !== interval || textOf(measure) !== textOf(facet.measure))
    return { state, other: listed }
  const divided =
    'ranges' in facet ? { ...chartRequest(dimension, measure, undefined), ranges: facet.ranges } : undefined
  const drawn = textOf(divided ?? chartRequest(dimension, measure, undefined)) === textOf(facet)
  return {
    state: { ...state, look: 'chart', by, ...(of ? { of } : {}) },
    ...(drawn ? {} : { other: 'The chart behind the link has other bars.' }),
  }
}

function withPivot(state: SearchState, drawn: Drawn & { kind: 'pivot' }, kindOf: KindOf): Search {
  const all = axesOf(state, kindOf)
  const { rows, columns, measure } = drawn
  const of = measure ? `${measure.of}:${measure.field}` : undefined
  const looks: SearchState = {
    ...state,
    look: 'pivot',
    by: textOfBy(rows),
    ...(columns ? { across: textOfBy(columns) } : {}),
    ...(of ? { of } : {}),
  }
  const axes = [axisOf(all, looks.by), axisOf(all, looks.across)]
  const known = axes[0] && (axes[1] !== undefined) === Boolean(columns)
  const measured = pivotMeasureOf(looks)
  if (!known || (measured !== undefined) !== Boolean(measure)) return { state, other: listed }
  const same =
    textOf(axes[0] && byOf(axes[0], 'rows')) === textOf(rows) &&
    textOf(axes[1] && byOf(axes[1], 'columns')) === textOf(columns ?? undefined)
  return { state: looks, ...(same ? {} : { other: 'The pivot behind the link has other rows or columns.' }) }
}

const textOfBy = (by: { field: string } | { field: string; interval: string }) =>
  'interval' in by ? `${by.field}:${by.interval}` : by.field

/** dimensionOfTile is the dimension of a tile's chart, whether or not the search screen offers it. */
export function dimensionOfTile(tile: Tile, facet: FieldFacet, kindOf: KindOf): Dimension {
  const kind = kindOf(tile.dataset, facet.field)
  const interval = 'interval' in facet ? (facet.interval as Interval) : undefined
  const known = rail[tile.dataset].find((f) => f.key === facet.field)
  const counted = kind === 'number' || kind === 'date' ? kind : 'values'
  return { ...known, key: facet.field, kind: counted, ...(interval ? { interval } : {}) }
}

/** axisOfTile is an axis of a pivot, like dimensionOfTile. */
export function axisOfTile(tile: Tile, by: PivotBy, kindOf: KindOf): Axis {
  const kind = kindOf(tile.dataset, by.field) === 'date' ? 'date' : 'values'
  return { key: by.field, kind, ...('interval' in by ? { interval: by.interval } : {}) }
}
