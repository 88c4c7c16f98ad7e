import type { Schemas } from '../api/client'
import type { PivotMeasure } from '../api/queries'
import { hasSeveral, type Axis } from './axes'

/** Bar is a part of the bar of a row. */
export interface Bar {
  /** The place of the row: two rows may have one name. */
  row: number
  /** The place of the column in Bars.columns. */
  column: number
  value: number
}

export interface Bars {
  bars: Bar[]
  /** The names of a bar's parts, none if it is the number of the whole row. */
  columns: string[]
}

type Cell = { count: number; measure?: number | null }

/** How many parts a bar has: there are as many colours. */
export const maxParts = 8

/**
 * barsOf draws the parts of a row if they add up to its number: counts and totals of a field with
 * one value, if every total is known. Groups without a number have no bar.
 */
export function barsOf(
  pivot: Schemas['Pivot'],
  columns: Axis | undefined,
  measure: PivotMeasure | undefined,
  names: string[],
): Bars {
  const valueOf = (c: Cell) => (measure && c.count > 0 ? (c.measure ?? null) : measure ? 0 : c.count)
  const cells = (pivot.cells ?? []).map((row) => row.map(valueOf))
  const known = cells.every((row) => row.every((value) => value !== null))
  if (!columns || hasSeveral(columns) || (measure && (measure.of !== 'sum' || !known))) {
    const bars = (pivot.rows?.groups ?? []).flatMap((g, row) => {
      const value = g.count > 0 ? valueOf(g) : null
      return value === null ? [] : [{ row, column: 0, value }]
    })
    return { bars, columns: [] }
  }
  const own = names.length > maxParts ? maxParts - 1 : names.length
  const bars = cells.flatMap((values, row) => {
    const parts = values.slice(0, own).map((value, column) => ({ row, column, value: value ?? 0 }))
    const rest = values.slice(own)
    if (rest.length > 0) parts.push({ row, column: own, value: rest.reduce<number>((sum, v) => sum + (v ?? 0), 0) })
    return parts
  })
  return { bars, columns: own < names.length ? [...names.slice(0, own), 'All others'] : names }
}
