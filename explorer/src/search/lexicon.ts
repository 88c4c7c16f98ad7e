import type { Descriptor } from '../api/queries'
import { capital, type Dataset } from '../datasets'
import { isExact } from './conditions'
import type { KindOf } from './state'

/** Lexicon describes the searchable fields and values. */
export interface Lexicon {
  nameOf: (dataset: Dataset) => string
  descriptorOf: (dataset: Dataset, key: string) => Descriptor | undefined
  kindOf: KindOf
  /** valueLabel is the label of a value; for an id, the record's name from names. */
  valueLabel: (dataset: Dataset, key: string, value: string, names: Record<string, string>) => string
}

/**
 * lexiconOf reads the descriptors. The book and Views can also be searched by annotations, but
 * not by related records.
 */
export function lexiconOf(descriptors: readonly Descriptor[], workspaceDataset: Dataset | undefined): Lexicon {
  const index = new Map(descriptors.map((d) => [`${d.dataset}.${d.key}`, d]))
  const nameOf = (dataset: Dataset) => (dataset === workspaceDataset ? `workspace_${dataset}` : dataset)
  const descriptorOf = (dataset: Dataset, key: string) => index.get(`${nameOf(dataset)}.${key}`)
  const kindOf: KindOf = (dataset, key) => {
    const kind = descriptorOf(dataset, key)?.kind
    if (kind === 'enum' || (kind && isExact(key))) return 'values'
    if (kind === 'geo') return 'place'
    return kind === 'text' && /_ids?$/.test(key) ? 'id' : kind
  }
  return {
    nameOf,
    descriptorOf,
    kindOf,
    valueLabel: (dataset, key, value, names) => {
      if (kindOf(dataset, key) === 'id') return names[value] ?? `${value.slice(0, 8)}…`
      const known = descriptorOf(dataset, key)?.values ?? []
      const folded = value.toLowerCase()
      return known.find((v) => v.value.toLowerCase() === folded)?.label ?? capital(value.replaceAll('_', ' '))
    },
  }
}
