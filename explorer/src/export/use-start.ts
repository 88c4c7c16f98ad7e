import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { go } from '../address'
import { sessionQuery, type Descriptor } from '../api/queries'
import { namesIn } from '../api/related-names'
import { nameOf } from '../search/columns'
import { defaultKeys } from '../table/fields'
import { idsOf } from './names'
import { inOrder, peopleOf, withJoined } from './people'
import { newExport } from './runner'
import type { Source } from './job'
import type { RecordNames } from './store'
import type { Choices } from './use-choices'
import type { Plan } from './use-plan'

/** ExportTarget is what the form exports. */
export interface ExportTarget {
  workspace: string
  source: Source
  /** The id of the export, if it already exists. */
  id?: string
  /** The name of the exported View or search. */
  name?: string | undefined
  /** The visible columns of the table. */
  visibleColumns?: string[]
  descriptors: Descriptor[]
}

/** useStart starts the export and goes to it. */
export function useStart(target: ExportTarget, choices: Choices, plan: Plan) {
  const client = useQueryClient()
  const user = useQuery(sessionQuery).data
  const { workspace, source } = target
  const { ids, known, names, maxRows, rows, countIsPartial } = plan
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const job = {
        id: target.id ?? crypto.randomUUID(),
        user: user?.id ?? '',
        workspace,
        dataset: source.dataset,
        format: choices.format,
        ...(target.name ? { name: target.name } : {}),
        columns: [],
        ...(choices.format === 'csv' && csvOf(target, choices, plan)),
        total: countIsPartial && maxRows ? maxRows : rows,
        capped: !countIsPartial || maxRows !== undefined,
      }
      const called = [...namesIn(client, workspace).records].map(([key, r]): RecordNames[0] => [key, r && nameOf(r)])
      await newExport(client, job, ids ? { ...source, ids } : source, known, names.length > 0 ? called : [])
      go(`/export/${job.id}`, { replace: true })
    },
  })
  return { start: mutate, error, disabled: plan.invalid || plan.matches === undefined || isPending || !user }
}

/** csvOf is what a job of a CSV file has more than others. */
function csvOf(
  { visibleColumns, descriptors }: ExportTarget,
  { excel, formulas, forPeople, projectBy }: Choices,
  plan: Plan,
) {
  const { table, columns, names, joins } = plan
  const file = { excel, formulas, ...(joins ? { join: true as const, projectBy } : {}) }
  if (!forPeople) return { ...file, columns: [...columns, ...names] }
  const people = peopleOf(table, descriptors)
  return {
    ...file,
    people: joins ? withJoined(people, descriptors) : people,
    // Names replace ids.
    columns: inOrder(table, visibleColumns ?? defaultKeys(table), columns).map(
      (c) => names.find((n) => idsOf(n)?.ids === c) ?? c,
    ),
  }
}
