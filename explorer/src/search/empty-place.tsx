import { link } from '../address'
import { nouns } from '../datasets'
import { useSearch } from './context'

/** EmptyPlace says how records come into the book or into a View that has none. */
export function EmptyPlace() {
  const { state, view } = useSearch()
  const many = nouns[state.dataset].many
  const dynamic = view?.view_type === 'dynamic'
  return (
    <div className="notice">
      <h2>{view ? `No ${many} in this View yet` : `No ${many} in your book yet`}</h2>
      {dynamic ? (
        <p>Nothing in the dataset matches its filters today. It finds records as soon as there are some.</p>
      ) : view ? (
        <p>Open a record in Search and choose “Add to a list”, or add all loaded rows below the table.</p>
      ) : (
        <p>
          The book has the records that your workspace says something about. Open one in Search and give it a status, a
          tag or a note.
        </p>
      )}
      <a className="button" {...link(`/${state.dataset}`)}>
        Search {many}
      </a>
    </div>
  )
}
