import type { Dataset } from '../datasets'
import { maxNamed } from '../search/columns'
import { columnsOf, tableOf } from '../table/fields'
import { joinedColumns, recordsJoined } from './join'
import { idsOf, namesOf } from './names'
import type { Source } from './job'
import type { Choices, Choose } from './use-choices'
import { useCount } from './use-count'
import { useLoaded } from './use-loaded'

export type Plan = ReturnType<typeof usePlan>

/** FormProps are what each part of the form shows and changes. */
export interface FormProps {
  plan: Plan
  choices: Choices
  choose: Choose
}

/** usePlan has the rows and columns that an export with these choices has, and its price. */
export function usePlan(workspace: string, source: Source, { format, named, join, excluded, first }: Choices) {
  const { dataset, body } = source
  const table = tableOf({ dataset, source: body.source })
  const count = useCount(workspace, source)
  // A row of a join is a firm of a search with a project and a person.
  const joinable = dataset === 'accounts' && !source.ids && body.source?.kind !== 'view'
  const joins = join && joinable && format === 'csv'
  const all = joins ? [...columnsOf(table), ...joinedColumns] : columnsOf(table)
  const { ids, known } = useLoaded(workspace, source, !joins)

  const matches = ids ? ids.length : count.data
  // Counts do not search e-mail addresses.
  const countIsPartial = dataset === 'contacts' && !ids && (body.query ?? '').includes('@')
  const maxRows = first === undefined ? undefined : Math.floor(Number(first))
  const rows = Math.min(matches ?? 0, maxRows ?? Infinity)
  const price = ids ? ids.slice(0, rows).filter((i) => !known[i]).length : rows * (joins ? recordsJoined : 1)
  const columns = all.filter((c) => !excluded.includes(c))
  const nameable = joins ? [] : namesOf(columns)
  const names = named && format === 'csv' ? nameable : []
  const forNames = useMaxNames(workspace, names, rows)
  return {
    table,
    count,
    matches,
    countIsPartial,
    joinable,
    joins,
    ids,
    known,
    all,
    columns,
    nameable,
    names,
    maxRows,
    rows,
    /** In credits; with upTo the maximum. */
    price: (price || 0) + forNames,
    upTo: joins || names.length > 0,
    /** How many rows cost nothing. */
    free: ids ? rows - price : 0,
    invalid: (format === 'csv' && columns.length === 0) || (maxRows !== undefined && !(maxRows >= 1)),
  }
}

/** useMaxNames is the maximum price of name columns, in credits: no record is read twice. */
function useMaxNames(workspace: string, columns: string[], rows: number): number {
  const has = (dataset: Dataset) => columns.some((c) => idsOf(c)?.dataset === dataset)
  const firms = useCount(workspace, { dataset: 'accounts', body: {} }, has('accounts')).data
  const people = useCount(workspace, { dataset: 'contacts', body: {} }, has('contacts')).data
  const maxRecords = (dataset: Dataset, count = Infinity) => (has(dataset) ? Math.min(maxNamed * rows, count) : 0)
  return maxRecords('accounts', firms) + maxRecords('contacts', people)
}
