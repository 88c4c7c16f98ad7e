import { useQueries, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import type { Schemas } from '../api/client'
import { facetsQuery, type Counts } from '../api/queries'
import { link } from '../address'
import { capital, labelOf, nouns, overviewDate, type Dataset } from '../datasets'
import { credits, formatNumber } from '../format'
import { Histogram, type Bar } from '../ui/histogram'
import { barsOf, rangeOf } from './buckets'
import { same } from './conditions'
import { useSearch } from './context'
import { isFirstVisit } from './first-visit'
import { railOf } from '../source'
import { daysOf } from './relative'
import { bodyOf, format, isEmpty, parse, withCondition } from './state'
import { useSlow } from '../ui/use-slow'

const Welcome = lazy(() => import('./welcome'))
const OverviewMap = lazy(() => import('../map/overview-map'))

interface Props {
  counts: Counts | undefined
  /** The counts, and so the price, are those of the previous search. */
  counting: boolean
  price: number
  load: () => void
}

/** Overview is what is shown before rows are loaded: everything that is free. */
export function Overview({ counts, counting, price, load }: Props) {
  const { state } = useSearch()
  const date = overviewDate[state.dataset]
  const [first] = useState(isFirstVisit)
  // Numbers of the previous search are pale.
  const slow = useSlow(counting)
  const topFields = railOf(state)
    .filter((f) => f.kind === 'values')
    .slice(0, 2)
  return (
    <div className={slow ? 'overview stale' : 'overview'}>
      {first && !state.source && (
        <Suspense>
          <Welcome />
        </Suspense>
      )}
      <div className="offer">
        <button className="button primary" disabled={!counts || counting} onClick={load}>
          {counts ? `Show ${formatNumber(price)} ${price === 1 ? 'row' : 'rows'} · ${credits(price)}` : 'Counting…'}
        </button>
        <p>
          Counting is free, rows cost one credit each.
          <span className="wide">
            {' '}
            <kbd>Enter</kbd> in the search box loads them too.
          </span>
        </p>
      </div>
      <div className="tops">
        {date && <Months field={date} />}
        {state.dataset === 'projects' && (
          <Suspense fallback={<section className="card" />}>
            <OverviewMap />
          </Suspense>
        )}
      </div>
      <div className="tops">
        {topFields.map((f) => (
          <Top key={f.key} field={f.key} facet={counts?.facets.find((c) => c.field === f.key)} />
        ))}
      </div>
      {isEmpty(state) && !state.source && <Examples />}
    </div>
  )
}

function Months({ field }: { field: string }) {
  const { workspace, state, body, change } = useSearch()
  const counts = useQuery(facetsQuery(workspace.id, state.dataset, body, [{ field, interval: 'month' }]))
  const facet = counts.data?.facets.find((f) => f.field === field)
  const condition = state.conditions[field]
  const range = condition?.kind === 'range' ? condition : undefined
  const { bars, earlier } = trimmed(barsOf('date', facet?.buckets ?? []))
  return (
    <section className="card">
      <h2>
        {capital(nouns[state.dataset].many)} by month <span>{labelOf(field)}</span>
      </h2>
      {facet ? (
        <>
          <Histogram
            tall
            label={`${labelOf(field)} by month`}
            bars={bars}
            {...daysOf(range)}
            onBrush={(first, last) => change(withCondition(state, field, rangeOf(bars, first, last)))}
          />
          <p className="quiet">
            {bars.length > 1 && 'Drag over the bars to choose a time.'}
            {range && ' Paler bars are outside the one that is chosen.'}
            {earlier > 0 && ` ${formatNumber(earlier)} ${earlier === 1 ? 'is' : 'are'} earlier.`}
          </p>
        </>
      ) : (
        <div className="skeleton" style={{ height: 150 }} />
      )}
    </section>
  )
}

/** Share of the records that the months before the first bar may have. */
const trim = 0.04

/** trimmed removes the first months if they have few records, and counts these. */
function trimmed(bars: Bar[]): { bars: Bar[]; earlier: number } {
  const total = bars.reduce((sum, b) => sum + b.count, 0)
  let earlier = 0
  for (const [i, b] of bars.entries()) {
    if (earlier + b.count > trim * total) return { bars: bars.slice(i), earlier }
    earlier += b.count
  }
  return { bars, earlier: 0 }
}

function Top({ field, facet }: { field: string; facet: Schemas['Facet'] | undefined }) {
  const { state, change, valueLabel } = useSearch()
  const values = facet?.values?.slice(0, 6) ?? []
  const most = Math.max(1, ...values.map((v) => v.count))
  const condition = state.conditions[field]
  const chosen = condition?.kind === 'values' ? condition.values : undefined
  return (
    <section className="card">
      <h2>
        {labelOf(field)} {condition && <span>with those that the filter on it leaves out</span>}
      </h2>
      {facet ? (
        <ul className="tops-list">
          {values.map((v) => (
            <li key={v.value} className={chosen?.every((c) => !same(c, v.value)) ? 'out' : undefined}>
              <button onClick={() => change(withCondition(state, field, { kind: 'values', values: [v.value] }))}>
                <span className="name">{v.label ?? valueLabel(field, v.value)}</span>
                <span className="track" aria-hidden="true">
                  <span style={{ width: `${(v.count / most) * 100}%` }} />
                </span>
                <span className="count">{formatNumber(v.count)}</span>
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <div className="skeleton" style={{ height: 120 }} />
      )}
    </section>
  )
}

const examples: { text: string; href: string }[] = [
  {
    text: 'Firms with large multifamily projects under construction',
    href: '/accounts?has_project.stage=under_construction&has_project.primary_use=multifamily&has_project.cost=1000000..&sort=projects_count:desc',
  },
  {
    text: 'Large multifamily projects under construction',
    href: '/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&sort=cost:desc',
  },
  {
    text: 'Projects of a million or more that are not completed',
    href: '/projects?stage=pre_filing&stage=filed&stage=under_review&stage=approved&stage=permitted&stage=under_construction&cost=1000000..&sort=cost:desc',
  },
  {
    text: 'Permits without a known general contractor',
    href: '/projects?stage=permitted&gc_status=unassigned&gc_status=unknown&sort=permitted_at:desc',
  },
  {
    text: 'General contractors with twenty projects or more',
    href: '/accounts?account_type=general_contractor&projects_count=20..&sort=projects_count:desc',
  },
  {
    text: 'Owners and executives of several projects',
    href: '/contacts?role=owner&role=executive&projects_count=5..&sort=projects_count:desc',
  },
  { text: 'Garages, by cost', href: '/projects?q=garage&sort=cost:desc' },
]

/** Examples suggests searches with results. */
function Examples() {
  const {
    workspace,
    kindOf,
    state: { dataset },
  } = useSearch()
  const states = examples.map(({ href }) => {
    const { pathname, search } = new URL(href, location.origin)
    return parse(pathname, search, kindOf)
  })
  const found = useQueries({
    queries: states.map((s) => facetsQuery(workspace.id, s.dataset, bodyOf(s, kindOf), [])),
  })
  const withResults = examples.flatMap(({ text }, i) => {
    const state = states[i]
    const count = found[i]?.data?.count
    return state && count !== 0 ? [{ text, state, count, first: i === 0 || state.dataset === dataset }] : []
  })
  // The first one, and those of this tab.
  withResults.sort((a, b) => Number(b.first) - Number(a.first))
  return (
    <section className="card">
      <h2>Worth trying</h2>
      <ul className="examples">
        {withResults.slice(0, 5).map(({ text, state, count }) => (
          <li key={text}>
            <a {...link(format(state))}>
              {text}
              <span className="count">
                {count === undefined ? '' : `${formatNumber(count)} ${noun(state.dataset, count)}`}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

const noun = (d: Dataset, n: number) => (n === 1 ? nouns[d].one : nouns[d].many)
