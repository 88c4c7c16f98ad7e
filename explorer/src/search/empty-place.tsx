import { link } from '../address'
import { nouns } from '../datasets'
import { useSearch } from './context'

/** EmptyPlace explains how to add records to the book or to an empty View. */
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
        <>
          <p>A list has what somebody puts into it, and everyone in the workspace sees it.</p>
          <ol className="ways">
            <li>Search, and open a record: “Add to a list” is above it.</li>
            <li>Or check rows of the table, and add them all at once below it.</li>
          </ol>
        </>
      ) : (
        <>
          <p>The book has the records that your workspace says something about. Saving is free.</p>
          <ol className="ways">
            <li>Search, and open a record that you work with.</li>
            <li>Give it a status such as “called”, a tag, or a note. It is in the book then.</li>
            <li>Filter here by what you wrote, sort, and export.</li>
          </ol>
        </>
      )}
      <a className="button" {...link(`/${state.dataset}`)}>
        Search {many}
      </a>
    </div>
  )
}
