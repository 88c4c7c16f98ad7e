import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { tiers, type Book } from '../api/book'
import type { Schemas } from '../api/client'
import { facetsQuery } from '../api/queries'
import { useSearch } from '../search/context'
import type { Setting } from './statuses'

interface Props {
  dataset: Book
  /** How many records are set: "3 firms". */
  what: string
  set: (setting: Setting) => void
  onClose: () => void
}

/** StatusForm asks for status, tier and tags. Empty fields are not changed. */
export function StatusForm({ dataset, what, set, onClose }: Props) {
  const [status, setStatus] = useState('')
  const [clear, setClear] = useState(false)
  const [tier, setTier] = useState('')
  const [tags, setTags] = useState('')
  const id = useId()
  const next: Setting['next'] = {
    ...(clear ? { workspace_status: null } : status.trim() ? { workspace_status: status.trim() } : {}),
    ...(tier ? { icp_tier: tier === 'none' ? null : (tier as Schemas['IcpTier']) } : {}),
  }
  const added = tagsOf(tags)
  return (
    <form
      className="form"
      onSubmit={(e) => {
        e.preventDefault()
        set({ next, tags: added })
      }}
    >
      <label className="field">
        <span>Status</span>
        <input
          type="text"
          autoFocus
          maxLength={100}
          list={`${id}-status`}
          placeholder="Stays as it is"
          disabled={clear}
          value={status}
          onChange={(e) => setStatus(e.target.value)}
        />
      </label>
      <label className="check">
        <input type="checkbox" checked={clear} onChange={(e) => setClear(e.target.checked)} />
        <span>Clear the status</span>
      </label>
      {dataset === 'accounts' && (
        <label className="field">
          <span>Tier</span>
          <select value={tier} onChange={(e) => setTier(e.target.value)}>
            <option value="">Stays as it is</option>
            {tiers.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
            <option value="none">No tier</option>
          </select>
        </label>
      )}
      <label className="field">
        <span>Add tags</span>
        <input
          type="text"
          list={`${id}-tags`}
          placeholder="With commas between them"
          value={tags}
          onChange={(e) => setTags(e.target.value)}
        />
      </label>
      <Used dataset={dataset} id={id} />
      <p className="quiet">
        Free. Records that are not in your book come into it. A status that a record has is replaced, its tags and notes
        stay.
      </p>
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button className="button primary" disabled={Object.keys(next).length === 0 && added.length === 0}>
          Set for {what}
        </button>
      </div>
    </form>
  )
}

/** tagsOf are the tags in a text, with commas between them. */
function tagsOf(text: string): string[] {
  const tags = text
    .split(',')
    .map((t) => t.trim())
    .filter(Boolean)
  return [...new Set(tags)]
}

/** Used suggests the statuses and tags that the book has. */
function Used({ dataset, id }: { dataset: Book; id: string }) {
  const { workspace } = useSearch()
  const used = useQuery(
    facetsQuery(workspace.id, dataset, { source: { kind: 'book' } }, [
      { field: 'workspace_status', limit: 50 },
      { field: 'tags', limit: 50 },
    ]),
  )
  return ['status', 'tags'].map((name, i) => (
    <datalist key={name} id={`${id}-${name}`}>
      {used.data?.facets[i]?.values?.map((v) => (
        <option key={v.value} value={v.label ?? v.value} />
      ))}
    </datalist>
  ))
}
