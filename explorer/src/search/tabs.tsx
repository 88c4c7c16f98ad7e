import { useQueries } from '@tanstack/react-query'
import { Building2, HardHat, Radio, Users, type LucideIcon } from 'lucide-react'
import { facetsQuery } from '../api/queries'
import { link } from '../address'
import { books } from '../api/book'
import { capital, datasets, nouns, type Dataset } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from './context'
import { format } from './state'

const icons: Record<Dataset, LucideIcon> = { projects: HardHat, accounts: Building2, contacts: Users, signals: Radio }

/** Tabs links to the same text in each dataset, with its count. */
export function Tabs({ count }: { count: number | undefined }) {
  const { workspace, state } = useSearch()
  const { source } = state
  const shown: readonly Dataset[] = source ? books : datasets
  const here = source ? { source } : {}
  const others = useQueries({
    queries: shown.map((d) => ({
      ...facetsQuery(workspace.id, d, state.query ? { ...here, query: state.query } : here, []),
      enabled: d !== state.dataset,
    })),
  })
  return (
    <nav className="tabs" aria-label="Datasets">
      {shown.map((d, i) => {
        const Icon = icons[d]
        const n = d === state.dataset ? count : others[i]?.data?.count
        return (
          <a
            key={d}
            {...link(format({ ...here, dataset: d, query: state.query, conditions: {} }))}
            aria-current={d === state.dataset ? 'page' : undefined}
          >
            <Icon size={15} aria-hidden />
            {capital(nouns[d].many)}
            <span className="count">{n === undefined ? '' : formatNumber(n)}</span>
          </a>
        )
      })}
    </nav>
  )
}
