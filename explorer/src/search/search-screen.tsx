import './search.css'
import { useQuery } from '@tanstack/react-query'
import { SlidersHorizontal } from 'lucide-react'
import { Suspense, useEffect, useRef, type ReactNode } from 'react'
import { facetsQuery } from '../api/queries'
import type { View } from '../api/views'
import { counted } from '../datasets'
import { ExportLink } from '../export/export-link'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { railOf as fieldsOf } from '../source'
import { useNarrow } from '../ui/use-narrow'
import { useSlow } from '../ui/use-slow'
import { clausesOf } from './clauses'
import { SearchContext, useSearchOfAddress } from './context'
import { CopySearch } from './copy-search'
import { DispositionNote } from './disposition-note'
import { FacetRail, facetRequests } from './facet-rail'
import { DidYouMean, useDidYouMean } from './did-you-mean'
import { preload, RecordDrawer } from './preload'
import { Looks } from './looks'
import { ReadingOffer, useReading } from './reading-offer'
import { Results } from './results'
import { SearchBox } from './search-box'
import { Sentence } from './sentence'
import { SaveView } from './save-view'
import { useRecordRecentSearch } from './use-record-recent-search'
import { useShortcuts } from './shortcuts'
import { Tabs } from './tabs'

interface Props extends ScreenProps {
  /** The View that the address names, and what stands above its search. */
  view?: View
  head?: ReactNode
}

/** SearchScreen searches Data, the book or a View, depending on the address. */
export function SearchScreen({ workspace, descriptors, view, head }: Props) {
  const typed = useSearchOfAddress(workspace, descriptors, { view })
  const fields = fieldsOf(typed.state)
  const requests = facetRequests(fields)
  const { search, suggestion, searchExactly } = useDidYouMean(typed, requests)
  const offer = useReading(typed)
  const accept = offer && (() => typed.change(offer.next))
  const { state, body } = search
  const facets = useQuery(facetsQuery(workspace.id, state.dataset, body, requests))
  // Counts of the previous tab are not shown under the new one.
  const otherTab = facets.isPlaceholderData && facets.data?.facets[0]?.field !== fields[0]?.key
  const counts = otherTab ? undefined : facets.data
  // Counts of the previous search stay for a moment, and are then hidden.
  const slow = useSlow(facets.isPlaceholderData) || (facets.isPlaceholderData && facets.isPaused)
  const count = slow ? undefined : counts?.count
  const place = view ? `· ${view.name} ` : state.source ? '· Book ' : ''
  const title = count === undefined ? 'Atlas' : `${counted(count, state.dataset)} ${place}· Atlas`
  useEffect(() => {
    document.title = title
  }, [title])
  useEffect(preload, [])
  const narrow = useNarrow()
  const sheet = useRef<HTMLDialogElement>(null)
  useShortcuts()
  useRecordRecentSearch(search)
  const conditions = clausesOf(search).length
  const railOf = <FacetRail counts={counts} error={facets.error} retry={() => void facets.refetch()} />
  return (
    <SearchContext value={search}>
      <div className="screen">
        <Top workspace={workspace}>
          <SearchContext value={typed}>
            <SearchBox key={state.dataset} accept={accept} />
          </SearchContext>
        </Top>
        {head ?? <Tabs count={count} />}
        <div className="columns">
          {!narrow && (
            <aside className={slow ? 'rail stale' : 'rail'} aria-label="Filters">
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
              <Sentence count={count} atMost={counts?.atMost} counting={slow && !facets.isPaused} />
              <Looks />
              <SaveView />
              {!counts?.atMost && <ExportLink count={count} />}
              <CopySearch />
            </div>
            {slow && facets.isPaused && (
              <p className="uncounted" role="status">
                No connection: what matches is counted when it is back.
              </p>
            )}
            {!slow && <DispositionNote counts={counts} />}
            {offer && accept && <ReadingOffer offer={offer} accept={accept} />}
            {suggestion && <DidYouMean typed={typed.state} suggestion={suggestion} searchExactly={searchExactly} />}
            <Results
              counts={counts}
              counting={facets.isPlaceholderData}
              error={facets.error}
              retry={() => void facets.refetch()}
            />
          </main>
          {state.record && (
            <Suspense fallback={null}>
              <RecordDrawer id={state.record} />
            </Suspense>
          )}
        </div>
      </div>
      {narrow && (
        <dialog className="sheet filters" ref={sheet} aria-label="Filters">
          <div className="scroll">{railOf}</div>
          <form method="dialog" className="done">
            <button className="button primary">
              {count === undefined ? 'Done' : `${count.toLocaleString()} match`}
            </button>
          </form>
        </dialog>
      )}
    </SearchContext>
  )
}
