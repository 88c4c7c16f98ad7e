import { useQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { bookQuery, Conflict, noAnnotations, ofRow, tiers, type Annotations as Values, type Book } from '../api/book'
import type { Schemas } from '../api/client'
import { findRow } from '../api/queries'
import { Notice } from '../ui/notice'
import { useFocusAfter } from '../ui/use-focus-after'
import { useSearch } from '../search/context'
import { ConflictNotice } from './conflict-notice'
import { UnsavedEdit } from './unsaved-edits'
import { plain } from '../table/editing'
import { discard, unsavedValuesOf } from './unsaved'
import { useAnnotate } from './use-annotate'

/** Annotations are the workspace's own status, tags, notes and tier, saved at once. */
export function Annotations({ book, id, name }: { book: Book; id: string; name: string }) {
  const { workspace } = useSearch()
  const query = useQuery(bookQuery(workspace.id, book, id))
  const title = useId()
  const client = useQueryClient()
  // A row of the book has the same values, and is paid for.
  const row = findRow(client, workspace.id, book, id, (source) => source !== undefined)
  const before = query.data === undefined && row ? ofRow(row as Parameters<typeof ofRow>[0]) : query.data
  const section = useRef<HTMLElement>(null)
  const focusSection = useFocusAfter(() => section.current, before === undefined ? 0 : 1)
  const { save, unsaved, overwrite } = useAnnotate(book, id, name)
  const change = (next: Partial<Values> | null, done: string) => save(next, before ?? null, done)
  const unsavedValues: Partial<Values> = Object.assign({}, ...unsaved.map(unsavedValuesOf))
  const values = { ...(before ?? noAnnotations), ...unsavedValues }
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
            value={before?.workspace_status ?? null}
            typed={unsavedValues.workspace_status}
            max={100}
            save={(v) => change({ workspace_status: v }, 'Status saved')}
          />
          {book === 'accounts' && (
            <label>
              <span>Tier</span>
              <select
                value={values.icp_tier ?? ''}
                onChange={(e) =>
                  change({ icp_tier: (e.target.value || null) as Schemas['IcpTier'] | null }, 'Tier saved')
                }
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
          <Tags tags={values.tags} save={(tags) => change({ tags }, 'Tags saved')} />
          <TextValue
            label="Notes"
            long
            value={before?.notes ?? null}
            typed={unsavedValues.notes}
            max={10_000}
            save={(v) => change({ notes: v }, 'Notes saved')}
          />
          {before === null && <p className="quiet">Not in your book yet. What you enter here adds it.</p>}
        </div>
      )}
      {query.error && <Notice error={query.error} retry={() => void query.refetch()} price={1} />}
      {before && (
        <button className="link" onClick={() => change(null, 'The record is out of your book')}>
          Remove from the book
        </button>
      )}
      {unsaved.map((edit) => {
        const { error, variables } = edit.state
        if (error instanceof Conflict) {
          return (
            <ConflictNotice
              key={edit.mutationId}
              conflict={error}
              mine={variables?.next ?? null}
              discard={() => discard(client, edit)}
              overwrite={(next) => {
                discard(client, edit)
                overwrite(next)
              }}
            />
          )
        }
        return <UnsavedEdit key={edit.mutationId} edit={edit} />
      })}
    </section>
  )
}

interface TextProps {
  label: string
  value: string | null
  /** Typed text that is not saved. */
  typed: string | null | undefined
  max: number
  long?: boolean
  save: (value: string | null) => void
}

/** TextValue saves when it loses the focus; Escape restores the previous value. */
function TextValue({ label, value, typed, max, long, save }: TextProps) {
  const common = {
    // A value changed elsewhere, such as by undo, resets it.
    key: value,
    defaultValue: (typed === undefined ? value : typed) ?? '',
    maxLength: max,
    placeholder: 'None',
    onBlur: (e: React.FocusEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      const text = e.target.value.trim()
      if (text !== plain(value).trim()) save(text || null)
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
