import { useQuery } from '@tanstack/react-query'
import { link } from '../address'
import { facetsQuery } from '../api/queries'
import { counted, type Records } from '../datasets'
import { useSearch } from '../search/context'
import { bodyOf, format } from '../search/state'
import { filterOf } from './relations'
import { similarTo } from './similar-to'

/**
 * Similar links to firms of the same kind in the same city with the same kind of projects. Its
 * count is free, its rows are read there.
 */
export function Similar({ firm }: { firm: Pick<Records['accounts'], 'id' | 'account_types' | 'city'> }) {
  const { workspace, kindOf, valueLabel } = useSearch()
  const uses = useQuery(
    facetsQuery(workspace.id, 'projects', filterOf('account_ids', firm.id), [{ field: 'primary_use', limit: 1 }]),
  )
  const use = uses.data?.facets[0]?.values?.[0]?.value
  const state = similarTo(firm, use)
  const found = useQuery({
    ...facetsQuery(workspace.id, 'accounts', state ? bodyOf(state, kindOf) : {}, []),
    enabled: state !== undefined && !uses.isLoading,
  })
  // The firm itself is among them.
  if (!state || !found.data || found.data.count < 2) return null
  const kinds = firm.account_types.map((t) => valueLabel('account_type', t, 'accounts'))
  const parts = [
    kinds.length > 0 && new Intl.ListFormat('en', { type: 'disjunction' }).format(kinds),
    firm.city && `in ${firm.city}`,
    state.conditions.has_project &&
      use !== undefined &&
      `with projects of ${valueLabel('primary_use', use, 'projects')}`,
  ]
  return (
    <p className="similar">
      <a {...link(format(state))}>Similar firms · {counted(found.data.count, 'accounts')}</a>{' '}
      <span className="quiet">{parts.filter(Boolean).join(' ')}</span>
    </p>
  )
}
