import { answer, api, type Schemas } from '../api/client'
import type { Dataset } from '../datasets'
import { maxNamed } from '../search/columns'
import { elements, members } from './raw-json'

// The columns account_names and contact_names name what account_ids and contact_ids have. They
// are those of `atlas export --names`.

/** idsOf is the id column of a name column, and its dataset; undefined for others. */
export function idsOf(column: string): { ids: string; dataset: Dataset } | undefined {
  const [, one] = /^(account|contact)_names$/.exec(column) ?? []
  return one ? { ids: `${one}_ids`, dataset: `${one}s` as Dataset } : undefined
}

/** namesOf are the columns that name ids of rows. */
export const namesOf = (columns: string[]): string[] =>
  columns.flatMap((column) => (/^(account|contact)_ids$/.test(column) ? column.replace(/_ids$/, '_names') : []))

/** NamesById maps ids of records to their names; null: deleted. */
export type NamesById = Map<string, string | null>

/** namedIds are the ids whose names a record shows in a column. */
export const namedIds = (values: Map<string, string>, ids: string): string[] => {
  const raw = values.get(ids)
  return raw?.startsWith('[')
    ? elements(raw)
        .slice(0, maxNamed)
        .map((id) => JSON.parse(id) as string)
    : []
}

/** How many records one request reads. */
const batchSize = 100

/** readNames reads the missing names of records, for a credit each, and reports each request. */
export async function readNames(
  workspace: string,
  records: string[],
  columns: string[],
  known: NamesById,
  onFound: (found: [string, string | null][], credits: number) => void,
): Promise<void> {
  for (const column of columns) {
    const named = idsOf(column)
    if (!named) continue
    const missing = new Set(records.flatMap((r) => namedIds(members(r), named.ids)).filter((id) => !known.has(id)))
    for (let left = [...missing]; left.length > 0; left = left.slice(batchSize)) {
      const ids = left.slice(0, batchSize)
      const request = api.POST(`/data/${named.dataset}/get/batch` as '/data/accounts/get/batch', {
        params: { query: { workspace_id: workspace } },
        body: { ids, fields: ['name'] } as Schemas['GetAccountsBatchRequest'],
      })
      const { data, metadata } = await answer(request)
      const names = new Map(data.results.flatMap((r) => (r.data ? [[r.id, r.data.name ?? null] as const] : [])))
      onFound(
        ids.map((id) => [id, names.get(id) ?? null]),
        metadata.credits,
      )
    }
  }
}
