import { Plus, X } from 'lucide-react'
import { useSearch } from '../search/context'
import { clause } from '../search/phrases'
import { conditionsAt, datasetAt, withConditionAt, type Place } from '../search/place'
import type { PageProps } from './builder'

interface Props extends Pick<PageProps, 'change' | 'open'> {
  place: Place
}

/** Rows lists the conditions at a place, to change, remove and add. */
export function Rows({ place, change, open }: Props) {
  const search = useSearch()
  const { state } = search
  const dataset = datasetAt(state, place)
  return (
    <ul className="rows">
      {Object.entries(conditionsAt(state, place)).map(([key, c]) => {
        const label = clause(search, key, c, dataset)
        return (
          <li key={key}>
            <button
              className="what"
              onClick={() =>
                open(
                  c.kind === 'related'
                    ? { kind: 'related', place: { ...place, relation: key } }
                    : { kind: 'field', place, key },
                )
              }
            >
              <bdi>{label}</bdi>
            </button>
            <button
              className="icon-button"
              aria-label={`Remove ${label}`}
              onClick={(e) => {
                const list = e.currentTarget.closest('ul')
                if (change(withConditionAt(state, place, key, undefined)))
                  list?.querySelector<HTMLElement>('.add')?.focus()
              }}
            >
              <X size={14} aria-hidden />
            </button>
          </li>
        )
      })}
      <li>
        <button className="add" onClick={() => open({ kind: 'pick', place })}>
          <Plus size={14} aria-hidden /> Condition
        </button>
      </li>
    </ul>
  )
}
