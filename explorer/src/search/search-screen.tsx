import './search.css'
import { useQuery } from '@tanstack/react-query'
import { SlidersHorizontal } from 'lucide-react'
import { useEffect, useRef, type ReactNode } from 'react'
import { facetsQuery } from '../api/queries'
import type { View } from '../api/views'
import { counted } from '../datasets'
import { ExportLink } from '../export/export-link'
import { RecordDrawer } from '../record/record-drawer'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { railOf as fieldsOf } from '../source'
import { useNarrow } from '../ui/use-narrow'
import { clausesOf } from './clauses'
import { SearchContext, useSearchOfAddress } from './context'
import { CopySearch } from './copy-search'
import { FacetRail, facetRequests } from './facet-rail'
import { Instead, useOffered } from './instead'
import { Looks } from './looks'
import { ReadingOffer, useReading } from './reading-offer'
import { Results } from './results'
import { SearchBox } from './search-box'
import { Sentence } from './sentence'
import { SaveView } from './save-view'
import { useShortcuts } from './shortcuts'
import { Tabs } from './tabs'

interface Props extends ScreenProps {
  /** The View that the address names, and what stands above its search. */
  view?: View
  head?: ReactNode
}

/** SearchScreen searches Data, the book or a View, as the address says. */
export function SearchScreen({ workspace, descriptors, view, head }: Props) {
  const typed = useSearchOfAddress(workspace, descriptors, { view })
  const fields = fieldsOf(typed.state)
  const requests = facetRequests(fields)
  const { search, offered, refuse } = useOffered(typed, requests)
  const offer = useReading(typed)
  const take = offer && (() => typed.change(offer.next))
  const { state, body } = search
  const facets = useQuery(facetsQuery(workspace.id, state.dataset, body, requests))
  // Counts of the former tab do not stand under the new one.
  const stale = facets.isPlaceholderData && facets.data?.facets[0]?.field !== fields[0]?.key
  const counts = stale ? undefined : facets.data
  const place = view ? `· ${view.name} ` : state.source ? '· Book ' : ''
  const title = counts ? `${counted(counts.count, state.dataset)} ${place}· Atlas` : 'Atlas'
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
          <SearchContext value={typed}>
            <SearchBox key={state.dataset} take={take} />
          </SearchContext>
        </Top>
        {head ?? <Tabs count={counts?.count} />}
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
              <Sentence count={counts?.count} atMost={counts?.atMost} />
              <Looks />
              <SaveView />
              {!counts?.atMost && <ExportLink count={counts?.count} />}
              <CopySearch />
            </div>
            {offer && take && <ReadingOffer offer={offer} take={take} />}
            {offered && <Instead typed={typed.state.query} offered={offered} refuse={refuse} />}
            <Results
              counts={counts}
              counting={facets.isPlaceholderData}
              error={facets.error}
              retry={() => void facets.refetch()}
            />
          </main>
          {state.record && <RecordDrawer id={state.record} />}
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
