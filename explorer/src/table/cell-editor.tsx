import './cell-editor.css'
import { useEffect, useRef, useState } from 'react'
import { noAnnotations, tiers, type Book } from '../api/book'
import type { AnyRecord } from '../datasets'
import { useAnnotate } from '../record/use-annotate'
import { nameOf, type Column } from '../search/columns'
import { useSearch } from '../search/context'
import { changeIn, seenIn, textIn, type Editable } from './editing'

interface Props {
  record: AnyRecord
  column: Column
  /** The value is saved, or nothing changes; the focus returns to the cell unless the user moved it. */
  done: (back: boolean) => void
}

const maxLengths = { workspace_status: 100, tags: 1000, notes: 10_000 }

/** CellEditor changes an annotation of a row: Enter or leaving it saves, Escape does not. */
export default function CellEditor({ record, column: { label, ...column }, done }: Props) {
  const { state } = useSearch()
  const key = column.key as Editable
  const { save } = useAnnotate(state.dataset as Book, record.id, nameOf(record))
  const input = useRef<HTMLInputElement & HTMLTextAreaElement & HTMLSelectElement>(null)
  const ended = useRef(false)
  useEffect(() => {
    input.current?.focus()
    if (key !== 'icp_tier') input.current?.select()
  }, [key])
  // The edit is based on the value at its start: others may change it meanwhile.
  const [seen] = useState(() => seenIn(record))
  const before = textIn(seen ?? noAnnotations, key)
  const end = (commit: boolean, back: boolean) => {
    if (ended.current) return // it loses the focus when it is removed
    ended.current = true
    const next = commit ? changeIn(key, input.current?.value ?? '', seen) : undefined
    if (next) save(next, seen, `${label} saved`)
    done(back)
  }
  const common = {
    ref: input,
    'aria-label': `${label} of ${nameOf(record)}`,
    defaultValue: before,
    onBlur: () => end(true, false),
    onKeyDown: (e: React.KeyboardEvent) => {
      // The table's shortcut keys are letters here.
      e.stopPropagation()
      if (e.key === 'Escape') end(false, true)
      else if (e.key === 'Enter' && !e.nativeEvent.isComposing && (key !== 'notes' || e.metaKey || e.ctrlKey))
        end(true, true)
      else return
      e.preventDefault()
    },
  }
  return (
    <div className="cell-editor" onClick={(e) => e.stopPropagation()}>
      {key === 'icp_tier' ? (
        <select {...common}>
          <option value="">None</option>
          {tiers.map(([tier, text]) => (
            <option key={tier} value={tier}>
              {text}
            </option>
          ))}
        </select>
      ) : key === 'notes' ? (
        <textarea {...common} rows={4} maxLength={maxLengths.notes} />
      ) : (
        <input
          {...common}
          type="text"
          maxLength={maxLengths[key]}
          placeholder={key === 'tags' ? 'With commas between them' : 'None'}
        />
      )}
    </div>
  )
}
