import type { Schemas } from './api/client'

/** datasets are the tabs, in their order. */
export const datasets = ['projects', 'accounts', 'contacts', 'signals'] as const
export type Dataset = (typeof datasets)[number]

/** Records have all members: no request here selects some of them. */
export interface Records {
  projects: Required<Schemas['Project']>
  accounts: Required<Schemas['Account']>
  contacts: Required<Schemas['Contact']>
  signals: Required<Schemas['Signal']>
}
export type AnyRecord = Records[Dataset]

/** nouns are what people call records of a dataset. */
export const nouns: Record<Dataset, { one: string; many: string }> = {
  projects: { one: 'project', many: 'projects' },
  accounts: { one: 'firm', many: 'firms' },
  contacts: { one: 'person', many: 'people' },
  signals: { one: 'signal', many: 'signals' },
}

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

export function counted(n: number, dataset: Dataset): string {
  return `${n.toLocaleString()} ${n === 1 ? nouns[dataset].one : nouns[dataset].many}`
}

/** FieldKind is how a field is searched: an enum by its values, a text by its words. */
export type FieldKind = 'values' | 'text' | 'id' | 'date' | 'number' | 'place' | 'relation'

/** relationOf returns whether the key of a relation requires a related record, or none. */
export function relationOf(key: string): { dataset: Dataset; has: boolean } | undefined {
  const [, verb, one] = /^(has|without)_(\w+)$/.exec(key) ?? []
  const dataset = datasets.find((d) => d === `${one}s`)
  return dataset && { dataset, has: verb === 'has' }
}

/** RailField is a field with a facet in the rail. */
export interface RailField {
  key: string
  kind: FieldKind
  /** Inclusive ranges of a number's facet. No existing value lies between two ranges. */
  ranges?: [number | null, number | null][]
}

const values = (...keys: string[]): RailField[] => keys.map((key) => ({ key, kind: 'values' }))
const dates = (...keys: string[]): RailField[] => keys.map((key) => ({ key, kind: 'date' }))

/** steps makes ranges between limits: below the first, between each two, from the last. */
export function steps(gap: number, ...limits: number[]): [number | null, number | null][] {
  return [null, ...limits].map((from, i) => {
    const next = limits[i]
    return [from, next === undefined ? null : next - gap]
  })
}
const counts = steps(1, 1, 2, 5, 10, 20, 50, 100)

/** rail lists the facets of each dataset; a request takes at most 12. */
export const rail: Record<Dataset, RailField[]> = {
  projects: [
    ...values('stage', 'primary_use'),
    { key: 'cost', kind: 'number', ranges: steps(0.01, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7) },
    ...dates('permitted_at'),
    ...values('disposition', 'gc_status'),
    { key: 'residential_units', kind: 'number', ranges: counts },
    { key: 'sqft', kind: 'number', ranges: steps(0.01, 300, 1000, 3000, 1e4, 3e4, 1e5) },
    ...dates('last_signal_at'),
    ...values('city'),
  ],
  accounts: [
    ...values('account_type'),
    { key: 'projects_count', kind: 'number', ranges: counts },
    ...dates('last_activity_at'),
    { key: 'contacts_count', kind: 'number', ranges: counts },
    { key: 'signals_count', kind: 'number', ranges: counts },
    ...values('city'),
  ],
  contacts: [...values('role', 'status'), { key: 'projects_count', kind: 'number', ranges: counts }, ...values('city')],
  signals: [...values('signal_type', 'stage'), ...dates('occurred_at', 'detected_at'), ...values('city')],
}

/** rangesOf returns the ranges that a facet of a number counts. */
export const rangesOf = (dataset: Dataset, key: string) => rail[dataset].find((f) => f.key === key)?.ranges ?? counts

/** overviewDate is the field whose months the overview of a dataset shows. */
export const overviewDate: Partial<Record<Dataset, string>> = {
  projects: 'permitted_at',
  accounts: 'last_activity_at',
  signals: 'occurred_at',
}

const labels: Record<string, string> = {
  stage: 'Stage',
  primary_use: 'Use',
  cost: 'Cost',
  permitted_at: 'Permit issued',
  filed_at: 'Permit filed',
  completed_at: 'Completed',
  disposition: 'Disposition',
  gc_status: 'General contractor',
  residential_units: 'Homes',
  sqft: 'Floor area (sq ft)',
  last_signal_at: 'Latest signal',
  account_type: 'Kind of firm',
  account_types: 'Kind of firm',
  projects_count: 'Projects',
  contacts_count: 'People',
  signals_count: 'Signals',
  last_activity_at: 'Latest activity',
  signal_type: 'Signal',
  occurred_at: 'Happened',
  detected_at: 'Detected',
  account_name: 'Firm',
  account_ids: 'Firms',
  contact_ids: 'People',
  account_names: 'Firms',
  contact_names: 'People',
  person_to_call: 'Person to call',
  project_name: 'Project',
  project_id: 'Project',
  account_id: 'Firm',
  id: 'ID',
  email: 'E-mail',
  workspace_status: 'Our status',
  icp_tier: 'Tier',
  atlas_score: 'Atlas score',
}

/** labelOf is the short name of a field. */
export function labelOf(key: string): string {
  return labels[key] ?? capital(key.replaceAll('_', ' ').replace(/ at$/, ''))
}
