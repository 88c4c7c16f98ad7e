import { Plus, X } from 'lucide-react'
import { useSearch } from '../search/context'
import { withConditionsAt, type Page, type Scope } from '../search/scope'
import type { PageProps } from './page'
import { Rows } from './rows'

const texts = {
  any: {
    first: 'Either',
    next: 'or',
    add: 'Alternative',
    rule: 'Records meet all conditions of at least one of these.',
  },
  none: {
    first: 'Not',
    next: 'nor',
    add: 'Exclusion',
    rule: 'Records that meet all conditions of one of these are left out.',
  },
}

/** Groups shows the alternatives or the exclusions of a search. */
export function Groups({ page: { of }, change, open }: PageProps<Extract<Page, { kind: 'groups' }>>) {
  const { state } = useSearch()
  const groups = state[of] ?? []
  const { first, next, add, rule } = texts[of]
  // Without a group there is an empty first one.
  const scopes = Array.from({ length: Math.max(1, groups.length) }, (_, at): Scope => ({ group: { of, at } }))
  return (
    <>
      <p className="quiet">{rule}</p>
      {scopes.map((scope, i) => (
        <section key={i} className="group" aria-label={`${add} ${i + 1}`}>
          <div className="mode">
            <h3>{i === 0 ? first : next}</h3>
            {groups[i] && (
              <button
                className="icon-button"
                aria-label={`Remove ${add.toLowerCase()} ${i + 1}`}
                onClick={() => change(withConditionsAt(state, scope, {}))}
              >
                <X size={14} aria-hidden />
              </button>
            )}
          </div>
          <Rows scope={scope} change={change} open={open} />
        </section>
      ))}
      {groups.length > 0 && (
        <button className="add" onClick={() => open({ kind: 'pick', scope: { group: { of, at: groups.length } } })}>
          <Plus size={14} aria-hidden /> {add}
        </button>
      )}
    </>
  )
}
