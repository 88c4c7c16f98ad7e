import { Copy } from 'lucide-react'
import type { ReactNode } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { link } from '../address'
import { useRelatedNames } from '../api/related-names'
import { labelOf, type AnyRecord, type Dataset, type Records } from '../datasets'
import { formatDay, formatNumber } from '../format'
import { nameOf } from '../search/columns'
import { useSearch } from '../search/context'
import { namedBy } from '../search/names'
import { format } from '../search/state'
import { copy } from '../ui/copy'
import { copyValueOf, safeLink, type CopyValue } from './copy-values'

// Shown as the title or the place, among related records, or of no use to people.
const hiddenFields = new Set([
  ...['id', 'name', 'title', 'account_ids', 'contact_ids', 'project_id', 'account_id'],
  ...['city', 'state', 'country', 'latitude', 'longitude', 'created_at', 'updated_at'],
  ...['workspace_status', 'tags', 'notes', 'icp_tier'],
  // Together in one line.
  ...['source', 'source_id', 'source_url'],
])

/** Fields lists all fields of a record, with their meanings. */
export function Fields({ dataset, record }: { dataset: Dataset; record: AnyRecord }) {
  const { describe, valueLabel } = useSearch()
  const rows = Object.entries(record).filter(([key]) => !hiddenFields.has(key) || (key === 'title' && 'name' in record))
  const known = rows.filter(([, v]) => !isUnknown(v))
  const unknown = rows.filter(([, v]) => isUnknown(v)).map(([key]) => labelOf(key))
  const place = [record.city, record.state, 'country' in record ? record.country : null].filter(Boolean).join(', ')
  const at = 'latitude' in record && record.latitude !== null && record.longitude !== null
  return (
    <>
      <dl className="fields">
        <Related record={record} />
        {known.map(([key, value]) => (
          <div key={key}>
            <dt title={describe(dataset, key)}>{labelOf(key)}</dt>
            <CopyableValue copied={copyValueOf(record, key)}>{show(key, value, valueLabel)}</CopyableValue>
          </div>
        ))}
        {'source' in record && record.source && (
          <div>
            <dt title={describe(dataset, 'source')}>Source</dt>
            <dd>
              <Source source={record.source} id={record.source_id} address={record.source_url} />
            </dd>
          </div>
        )}
        {place && (
          <div>
            <dt>Place</dt>
            <dd>
              {place}
              {at && (
                <span className="quiet">
                  {' '}
                  {record.latitude?.toFixed(4)}, {record.longitude?.toFixed(4)}
                </span>
              )}
            </dd>
          </div>
        )}
      </dl>
      <p className="quiet">
        {unknown.length > 0 && `Unknown: ${new Intl.ListFormat('en').format(unknown)}. `}
        {/* Rows of the book do not have them. */}
        {record.created_at && `Created ${formatDay(record.created_at)}, updated ${formatDay(record.updated_at)}.`}
      </p>
    </>
  )
}

/** Related names the firms and people of a record that were read, with what they are. */
function Related({ record }: { record: AnyRecord }) {
  const { workspace, valueLabel } = useSearch()
  const { records } = useRelatedNames(useQueryClient(), workspace.id)
  const about = (of: AnyRecord) => {
    if ('account_types' in of) return of.account_types.map((t) => valueLabel('account_type', t, 'accounts')).join(', ')
    const { title, role } = of as Records['contacts']
    return title ?? (role ? valueLabel('role', role, 'contacts') : '')
  }
  return ['account_ids', 'contact_ids'].map((key) => {
    const dataset = namedBy(key)
    const ids = (record as unknown as Record<string, string[] | undefined>)[key] ?? []
    const found = ids.flatMap((id) => records.get(id) ?? [])
    if (!dataset || found.length === 0) return null
    return (
      <div key={key}>
        <dt>{labelOf(key)}</dt>
        <dd>
          <ul className="named">
            {found.map((r) => (
              <li key={r.id}>
                <a {...link(format({ dataset, record: r.id, query: '', conditions: {} }))}>{nameOf(r)}</a>{' '}
                <span className="quiet">{about(r)}</span>
              </li>
            ))}
          </ul>
        </dd>
      </div>
    )
  })
}

const isUnknown = (value: unknown) => value === null || value === '' || (Array.isArray(value) && value.length === 0)

function show(key: string, value: unknown, valueLabel: (key: string, value: string) => string): ReactNode {
  if (Array.isArray(value)) {
    const all = value.map((v) => (key === 'account_types' ? valueLabel('account_type', String(v)) : String(v)))
    return new Intl.ListFormat('en').format(all)
  }
  if (typeof value === 'number') return formatNumber(value)
  const text = String(value)
  if (key.endsWith('_at')) return formatDay(text)
  if (key === 'email') return <a href={`mailto:${encodeURIComponent(text)}`}>{text}</a>
  if (key === 'website') return <External href={text} />
  return /^[a-z_]+$/.test(text) ? valueLabel(key, text) : text
}

/** CopyableValue is the value of a field, with a copy button where it is needed elsewhere. */
function CopyableValue({ copied, children }: { copied: CopyValue | undefined; children: ReactNode }) {
  if (!copied) return <dd>{children}</dd>
  const { name, text, key } = copied
  const label = `Copy ${name.charAt(0).toLowerCase()}${name.slice(1)}`
  return (
    <dd>
      <span className="text">{children}</span>
      <button
        className="icon-button copy"
        aria-label={label}
        title={key ? `${label} (${key})` : label}
        onClick={() => void copy(name, text)}
      >
        <Copy size={13} aria-hidden />
      </button>
    </dd>
  )
}

interface SourceProps {
  source: string
  id: string | null
  address: string | null
}

/** Source is the source of a permit, with a link to it. */
function Source({ source, id, address }: SourceProps) {
  const to = address === null ? undefined : safeLink(address)
  return (
    <>
      <bdi>{source}</bdi>
      {id !== null && (
        <>
          , <bdi>{id}</bdi>
        </>
      )}
      {to !== undefined ? (
        <>
          {' '}
          <a className="external-link" href={to} target="_blank" rel="noopener noreferrer">
            See it there
          </a>
        </>
      ) : (
        address !== null && <span className="quiet"> {address}</span>
      )}
    </>
  )
}

/** External is a link out; an address of another scheme than http is text. */
function External({ href }: { href: string }) {
  if (!/^https?:\/\//i.test(href)) return href
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {href}
    </a>
  )
}
