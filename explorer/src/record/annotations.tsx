import { useMutation, useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { annotate, bookQuery, noAnnotations, type Annotations as Values, type Book } from '../api/book'
import type { Schemas } from '../api/client'
import { Notice } from '../ui/notice'
import { notify } from '../ui/toast'
import { useFocusAfter } from '../ui/use-focus-after'
import { useSearch } from '../search/context'

const tiers: [Schemas['IcpTier'], string][] = [
  ['tier_1', 'Tier 1'],
  ['tier_2', 'Tier 2'],
  ['tier_3', 'Tier 3'],
  ['disqualified', 'Disqualified'],
]

/** Annotations are the workspace's own status, tags, notes and tier, saved at once. */
export function Annotations({ book, id }: { book: Book; id: string }) {
  const { workspace } = useSearch()
  const query = useQuery(bookQuery(workspace.id, book, id))
  const save = useMutation(annotate(workspace.id, book, id))
  const title = useId()
  const before = query.data
  const section = useRef<HTMLElement>(null)
  const focusSection = useFocusAfter(() => section.current, before === undefined ? 0 : 1)
  const change = (next: Partial<Values>, what: string) => {
    save.mutate(next, {
      onSuccess: () => {
        // What undo restores: the former values, or that the record was not in the book.
        const former = before ? Object.fromEntries(Object.keys(next).map((k) => [k, before[k as keyof Values]])) : null
        notify(before ? `${what} saved` : `${what} saved; the record is in your book now`, () => save.mutate(former))
      },
    })
  }
  const values = before ?? noAnnotations
  return (
    <section className="annotations" aria-labelledby={title} ref={section} tabIndex={-1}>
      <h3 id={title}>Your workspace</h3>
      {before === undefined ? (
        <button
          className="button"
          disabled={query.isFetching}
          onClick={() => {
            focusSection()
            void query.refetch()
          }}
        >
          Show status, tags and notes · 1 credit if there are any
        </button>
      ) : (
        <div className="values">
          <TextValue
            label="Status"
            value={values.workspace_status}
            max={100}
            save={(v) => change({ workspace_status: v }, 'Status')}
          />
          {book === 'accounts' && (
            <label>
              <span>Tier</span>
              <select
                value={values.icp_tier ?? ''}
                onChange={(e) => change({ icp_tier: (e.target.value || null) as Schemas['IcpTier'] | null }, 'Tier')}
              >
                <option value="">None</option>
                {tiers.map(([tier, label]) => (
                  <option key={tier} value={tier}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
          )}
          <Tags tags={values.tags} save={(tags) => change({ tags }, 'Tags')} />
          <TextValue label="Notes" long value={values.notes} max={10_000} save={(v) => change({ notes: v }, 'Notes')} />
          {before === null && <p className="quiet">Not in your book yet. What you enter here adds it.</p>}
        </div>
      )}
      {query.error && <Notice error={query.error} retry={() => void query.refetch()} />}
      {save.error && <Notice error={save.error} retry={() => save.mutate(save.variables ?? null)} />}
    </section>
  )
}

interface TextProps {
  label: string
  value: string | null
  max: number
  long?: boolean
  save: (value: string | null) => void
}

/** TextValue saves when one leaves it; Escape restores what was there. */
function TextValue({ label, value, max, long, save }: TextProps) {
  const common = {
    // Another value from outside, such as undo, begins anew.
    key: value,
    defaultValue: value ?? '',
    maxLength: max,
    placeholder: 'None',
    onBlur: (e: React.FocusEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      const text = e.target.value.trim()
      if (text !== (value ?? '')) save(text || null)
    },
    onKeyDown: (e: React.KeyboardEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      if (e.key === 'Escape') {
        e.preventDefault()
        e.currentTarget.value = value ?? ''
        e.currentTarget.blur()
      } else if (e.key === 'Enter' && (!long || e.metaKey || e.ctrlKey)) e.currentTarget.blur()
    },
  }
  const { key, ...rest } = common
  return (
    <label>
      <span>{label}</span>
      {long ? <textarea key={key} rows={3} {...rest} /> : <input key={key} type="text" {...rest} />}
    </label>
  )
}

function Tags({ tags, save }: { tags: string[]; save: (tags: string[]) => void }) {
  const [text, setText] = useState('')
  const id = useId()
  const add = () => {
    const tag = text.trim()
    setText('')
    if (tag && !tags.includes(tag)) save([...tags, tag])
  }
  return (
    <div className="row">
      <label htmlFor={id}>Tags</label>
      <div className="tags">
        {tags.map((tag) => (
          <span className="chip" key={tag}>
            <span>{tag}</span>
            <button aria-label={`Remove the tag ${tag}`} onClick={() => save(tags.filter((t) => t !== tag))}>
              <X size={12} aria-hidden />
            </button>
          </span>
        ))}
        <input
          id={id}
          type="text"
          value={text}
          maxLength={64}
          placeholder="Add a tag"
          onChange={(e) => setText(e.target.value)}
          onBlur={add}
          onKeyDown={(e) => {
            if (e.key === 'Enter' || e.key === ',') {
              e.preventDefault()
              add()
            } else if (e.key === 'Escape') {
              e.preventDefault()
              setText('')
            }
          }}
        />
      </div>
    </div>
  )
}
