import { noAnnotations, tiers, type Annotations, type Conflict } from '../api/book'
import { labelOf } from '../datasets'

interface Props {
  conflict: Conflict
  /** The values that the user was about to save; null: to remove the record from the book. */
  mine: Partial<Annotations> | null
  discard: () => void
  overwrite: (next: Partial<Annotations> | null) => void
}

/** ConflictNotice offers the choice between the values that somebody else has saved and the user's own. */
export function ConflictNotice({ conflict: { theirs, keys }, mine, discard, overwrite }: Props) {
  return (
    <div className="conflict" role="alert">
      <p>
        <b>Somebody else has changed this meanwhile.</b> Nothing of yours is saved yet.
      </p>
      <dl>
        {keys.map((key) => (
          <div key={key}>
            <dt>{key === 'workspace_status' ? 'Status' : labelOf(key)}</dt>
            <dd>
              theirs <b>{show((theirs ?? noAnnotations)[key])}</b>
              {mine && (
                <>
                  , yours <b>{show(mine[key])}</b>
                </>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <div className="actions">
        <button className="button" onClick={discard}>
          Keep theirs
        </button>
        <button className="button" onClick={() => overwrite(mine)}>
          {mine ? 'Save mine' : 'Remove it all the same'}
        </button>
      </div>
    </div>
  )
}

function show(value: Annotations[keyof Annotations]): string {
  const text = Array.isArray(value) ? value.join(', ') : value
  return text ? `“${tiers.find(([tier]) => tier === text)?.[1] ?? text}”` : 'none'
}
