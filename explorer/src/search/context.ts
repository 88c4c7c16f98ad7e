import { useQueryClient } from '@tanstack/react-query'
import { createContext, use, useMemo } from 'react'
import type { Schemas } from '../api/client'
import type { Body } from '../api/body'
import { findLoaded, recordQuery, rowsQuery, type Descriptor } from '../api/queries'
import { datasetOf, sourceOf, type View } from '../api/views'
import { go, useAddress } from '../address'
import type { Dataset } from '../datasets'
import { scopeOf } from '../source'
import { notify } from '../ui/toast'
import { derivedRows } from './derived-rows'
import { lexiconOf } from './lexicon'
import { useNames } from './names'
import { bodyOf, format, limitOf, parse, type KindOf, type SearchState } from './state'

export interface Search {
  workspace: Schemas['GetWorkspaceData']
  /** The View that is searched. */
  view?: View
  state: SearchState
  body: Body
  kindOf: KindOf
  /** describe explains a field. */
  describe: (dataset: Dataset, key: string) => string | undefined
  /** valueLabel is the label of a value. */
  valueLabel: (key: string, value: string, dataset?: Dataset) => string
  /** fieldsOf lists the descriptors of a dataset. */
  fieldsOf: (dataset: Dataset) => Descriptor[]
  /** change goes to another search; replace leaves no history entry. */
  change: (next: SearchState, options?: { replace?: boolean }) => void
  /** load reads the first rows of a search, unless they are cached. */
  load: (state: SearchState) => void
  /** loadRecord reads one record for a credit, unless it is cached. */
  loadRecord: (dataset: Dataset, id: string) => void
}

export const SearchContext = createContext<Search | null>(null)

export function useSearch(): Search {
  const search = use(SearchContext)
  if (!search) throw new Error('no search around')
  return search
}

interface Place {
  /** The prefix of the path before the search. */
  prefix?: string
  /** The View that the path names. */
  view?: View | undefined
}

/** useSearchOfAddress makes the search that the address describes. */
export function useSearchOfAddress(
  workspace: Schemas['GetWorkspaceData'],
  descriptors: Descriptor[],
  { prefix = '', view }: Place = {},
): Search {
  const ofView = view && datasetOf(view)
  const client = useQueryClient()
  const { path: whole, search } = useAddress()
  const path = whole.slice(prefix.length)
  const { dataset: searched, source } = scopeOf(path, ofView)
  const workspaceDataset = source && searched
  const lexicon = useMemo(() => lexiconOf(descriptors, workspaceDataset), [descriptors, workspaceDataset])
  const { kindOf } = lexicon
  const state = useMemo(() => {
    const parsed = parse(path, search, kindOf, ofView)
    return view ? { ...parsed, source: sourceOf(view) } : parsed
  }, [path, search, kindOf, ofView, view])
  const names = useNames(workspace.id, state, kindOf)
  return useMemo(
    () => ({
      workspace,
      ...(view ? { view } : {}),
      state,
      body: bodyOf(state, kindOf),
      kindOf,
      describe: (dataset, key) => lexicon.descriptorOf(dataset, key)?.description,
      fieldsOf: (dataset) => descriptors.filter((d) => d.dataset === lexicon.nameOf(dataset)),
      valueLabel: (key, value, dataset = state.dataset) => lexicon.valueLabel(dataset, key, value, names),
      change: (next, options) => {
        const refusal = limitOf(bodyOf(next, kindOf))
        if (refusal) notify(refusal)
        else go(format(next), options)
      },
      load: (next) => {
        const query = rowsQuery(workspace.id, next.dataset, bodyOf(next, kindOf), next.sort)
        // After a failed page the others would count as stale, and be refetched and charged.
        if (client.getQueryData(query.queryKey)) return
        const derived = derivedRows(client, workspace.id, next.dataset, { body: bodyOf(next, kindOf), sort: next.sort })
        if (derived) {
          client.setQueryData(query.queryKey, derived)
          return
        }
        // The table shows the error.
        client.fetchInfiniteQuery(query).catch(() => undefined)
      },
      loadRecord: (dataset, id) => {
        if (findLoaded(client, workspace.id, dataset, id)) return
        // The drawer shows the error.
        client.fetchQuery(recordQuery(workspace.id, dataset, id)).catch(() => undefined)
      },
    }),
    [workspace, view, state, kindOf, descriptors, names, lexicon, client],
  )
}
