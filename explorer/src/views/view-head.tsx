import { useQuery } from '@tanstack/react-query'
import { ArrowLeft } from 'lucide-react'
import { useState } from 'react'
import { sessionQuery } from '../api/queries'
import { bookOf } from '../source'
import { datasetOf, definitionOf, type View } from '../api/views'
import { link } from '../address'
import { capital, nouns } from '../datasets'
import { useSearch } from '../search/context'
import { clause } from '../search/phrases'
import { AlertButton, AlertMail } from './alert-button'
import { fromDefinition } from './definition'
import { NewRecordsNotice, RestNotice } from './new-records'
import { FavoriteButton } from './favorite-button'
import { ViewMenu } from './view-menu'

/** ViewHead stands above the search in a View: its description and actions. */
export function ViewHead({ view }: { view: View }) {
  const search = useSearch()
  const dataset = datasetOf(view)
  const definition = bookOf(dataset) && view.view_type === 'dynamic' ? fromDefinition(view, dataset) : undefined
  const words = definition
    ? [
        ...(definition.query ? [`“${definition.query}”`] : []),
        ...Object.entries(definition.conditions).map(([key, c]) => clause(search, key, c)),
      ]
    : []
  return (
    <>
      <section className="view-head" aria-label="View">
        <a className="icon-button" {...link('/views')} aria-label="All Views" title="All Views">
          <ArrowLeft size={16} aria-hidden />
        </a>
        <bdi className="view-name" title={view.name}>
          {view.name}
        </bdi>
        <FavoriteButton view={view} />
        <AlertButton view={view} />
        <AlertMail view={view} />
        <p className="view-about">
          {capital(nouns[dataset].many)}
          {' · '}
          {definition ? words.join(' · ') || 'everything' : 'a list: what was added to it'}
        </p>
        <ViewMenu view={view} definition={definition} />
      </section>
      <Changed view={view} />
      <RestNotice view={view} />
      <NewRecordsNotice view={view} />
    </>
  )
}

/** Changed says that somebody else has changed the definition of the View since the user saw it. */
function Changed({ view }: { view: View }) {
  const me = useQuery(sessionQuery).data?.id
  const definition = definitionOf(view)
  const [seen, setSeen] = useState(definition)
  if (seen === definition) return null
  if (view.updated_by === me) {
    setSeen(definition)
    return null
  }
  return (
    <p className="view-changed" role="alert">
      Somebody has changed the filters of this View. Its rows are others now, and are loaded by the button with their
      price.
      <button className="link" onClick={() => setSeen(definition)}>
        OK
      </button>
    </p>
  )
}
