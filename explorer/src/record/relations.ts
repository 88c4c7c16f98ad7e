import type { Sort } from '../api/queries'
import { maxIncluded } from '../api/related'
import { counted, nouns, type AnyRecord, type Dataset, type Records } from '../datasets'
import { credits, formatNumber } from '../format'

/** Relation says how related records are found: by their ids, or by a filter on their own. */
export type Relation = { dataset: Dataset; sort?: Sort } & ({ ids: string[] } | { key: string })

const latest: Sort = { field: 'occurred_at', order: 'desc' }

const signals = (key: string): Relation => ({ dataset: 'signals', key, sort: latest })

/** signalsOf is where the signals of a record are: of projects and firms only. */
export const signalsOf = (dataset: Dataset): Relation[] =>
  dataset === 'projects' ? [signals('project_id')] : dataset === 'accounts' ? [signals('account_ids')] : []

/** relationsOf lists what is related to a record, in the order of its tabs. */
export function relationsOf(dataset: Dataset, record: AnyRecord): Relation[] {
  switch (dataset) {
    case 'projects': {
      const r = record as Records['projects']
      return [
        ...signalsOf(dataset),
        { dataset: 'accounts', ids: r.account_ids },
        { dataset: 'contacts', ids: r.contact_ids },
      ]
    }
    case 'accounts':
      return [
        { dataset: 'projects', key: 'account_ids' },
        { dataset: 'contacts', key: 'account_id' },
        ...signalsOf(dataset),
      ]
    case 'contacts': {
      const r = record as Records['contacts']
      return [
        { dataset: 'projects', key: 'contact_ids' },
        { dataset: 'accounts', ids: r.account_id ? [r.account_id] : [] },
      ]
    }
    case 'signals': {
      const r = record as Records['signals']
      return [
        { dataset: 'projects', ids: r.project_id ? [r.project_id] : [] },
        { dataset: 'accounts', ids: r.account_ids },
      ]
    }
  }
}

export const filterOf = (key: string, id: string) => ({ filters: { [key]: { value: id } } })

/** Group is a relation with its loaded data. */
export type Group = Relation & {
  /** How many there are, undefined until they are counted. */
  count: number | undefined
  /** The included records, undefined until the record was read. */
  included: AnyRecord[] | undefined
}

export type FilterGroup = Extract<Group, { key: string }>
export type IdGroup = Extract<Group, { ids: string[] }>

/** offerOf describes what one credit buys: "Show 2 firms, 1 person and 25 of 140 signals · 1 credit". */
export function offerOf(groups: Pick<Group, 'dataset' | 'count' | 'included'>[]): string {
  const parts = groups.flatMap(({ dataset, count = 0, included }) => {
    if (count === 0 || included) return []
    if (count <= maxIncluded) return counted(count, dataset)
    return `${maxIncluded} of ${formatNumber(count)} ${nouns[dataset].many}`
  })
  return `Show ${new Intl.ListFormat('en').format(parts)} · ${credits(1)}`
}
