import './search.css'
import { useQuery } from '@tanstack/react-query'
import { SlidersHorizontal } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { facetsQuery } from '../api/queries'
import { counted, rail } from '../datasets'
import { ExportLink } from '../export/export-link'
import { RecordDrawer } from '../record/record-drawer'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { useNarrow } from '../ui/use-narrow'
import { clausesOf } from './clauses'
import { SearchContext, useSearchOfAddress } from './context'
import { CopySearch } from './copy-search'
import { FacetRail, facetRequests } from './facet-rail'
import { Looks } from './looks'
import { Results } from './results'
import { SearchBox } from './search-box'
import { Sentence } from './sentence'
import { useShortcuts } from './shortcuts'
import { Tabs } from './tabs'

export function SearchScreen({ workspace, descriptors }: ScreenProps) {
  const search = useSearchOfAddress(workspace, descriptors)
  const { state, body } = search
  const facets = useQuery(facetsQuery(workspace.id, state.dataset, body, facetRequests(rail[state.dataset])))
  // Counts of the former tab do not stand under the new one.
  const stale = facets.isPlaceholderData && facets.data?.facets[0]?.field !== rail[state.dataset][0]?.key
  const counts = stale ? undefined : facets.data
  const title = counts ? `${counted(counts.count, state.dataset)} · Atlas` : 'Atlas'
  useEffect(() => {
    document.title = title
  }, [title])
  const narrow = useNarrow()
  const sheet = useRef<HTMLDialogElement>(null)
  const shortcuts = useShortcuts()
  const conditions = clausesOf(search).length
  const railOf = <FacetRail counts={counts} error={facets.error} retry={() => void facets.refetch()} />
  return (
    <SearchContext value={search}>
      <div className="screen">
        <Top workspace={workspace}>
          <SearchBox key={state.dataset} />
        </Top>
        <Tabs count={counts?.count} />
        <div className="columns">
          {!narrow && (
            <aside className="rail" aria-label="Filters">
              {railOf}
            </aside>
          )}
          <main className="results" aria-busy={facets.isFetching}>
            <div className="above">
              {narrow && (
                <button className="button" onClick={() => sheet.current?.showModal()}>
                  <SlidersHorizontal size={14} aria-hidden /> Filters{conditions > 0 && ` · ${conditions}`}
                </button>
              )}
              <Sentence count={counts?.count} />
              <Looks />
              <ExportLink count={counts?.count} />
              <CopySearch />
            </div>
            <Results
              counts={counts}
              counting={facets.isPlaceholderData}
              error={facets.error}
              retry={() => void facets.refetch()}
            />
          </main>
          {state.record && <RecordDrawer key={state.record} id={state.record} />}
        </div>
      </div>
      {narrow && (
        <dialog className="sheet filters" ref={sheet} aria-label="Filters">
          <div className="scroll">{railOf}</div>
          <form method="dialog" className="done">
            <button className="button primary">{counts ? `${counts.count.toLocaleString()} match` : 'Done'}</button>
          </form>
        </dialog>
      )}
      {shortcuts}
    </SearchContext>
  )
}
