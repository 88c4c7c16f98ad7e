import { Plus, X } from 'lucide-react'
import { useSearch } from '../search/context'
import { clause } from '../search/phrases'
import { conditionsAt, datasetAt, withConditionAt, type Scope } from '../search/scope'
import type { PageProps } from './page'

interface Props extends Pick<PageProps, 'change' | 'open'> {
  scope: Scope
}

/** Rows lists the conditions in a scope, to change, remove and add. */
export function Rows({ scope, change, open }: Props) {
  const search = useSearch()
  const { state } = search
  const dataset = datasetAt(state, scope)
  return (
    <ul className="rows">
      {Object.entries(conditionsAt(state, scope)).map(([key, c]) => {
        const label = clause(search, key, c, dataset)
        return (
          <li key={key}>
            <button
              className="what"
              onClick={() =>
                open(
                  c.kind === 'related'
                    ? { kind: 'related', scope: { ...scope, relation: key } }
                    : { kind: 'field', scope, key },
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
                if (change(withConditionAt(state, scope, key, undefined)))
                  list?.querySelector<HTMLElement>('.add')?.focus()
              }}
            >
              <X size={14} aria-hidden />
            </button>
          </li>
        )
      })}
      <li>
        <button className="add" onClick={() => open({ kind: 'pick', scope })}>
          <Plus size={14} aria-hidden /> Condition
        </button>
      </li>
    </ul>
  )
}
