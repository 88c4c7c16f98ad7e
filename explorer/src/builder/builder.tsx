import './builder.css'
import { ArrowLeft, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { capital, counted, labelOf, nouns, relationOf } from '../datasets'
import { useSearch } from '../search/context'
import type { Page } from '../search/scope'
import { bodyOf, limitOf, type SearchState } from '../search/state'
import { FieldEditor } from './field-editor'
import { Groups } from './groups'
import { addFilter } from './page'
import { Picker } from './picker'
import { Related } from './related'

interface Props {
  start: Page
  /** The left edge of the button that opened it, in pixels. */
  left: number
  count: number | undefined
  close: () => void
}

/** Builder adds and changes conditions. Changes take effect at once. */
export function Builder({ start, left, count, close }: Props) {
  const search = useSearch()
  const { state, kindOf } = search
  const popover = useRef<HTMLDivElement>(null)
  const [pages, setPages] = useState([start])
  const [refusal, setRefusal] = useState<string>()
  const page = pages.at(-1) ?? start
  const show = (next: Page[]) => {
    setRefusal(undefined)
    setPages(next)
  }

  // Going back once undoes all changes made while the builder was open.
  const changed = useRef(false)
  const change = (next: SearchState) => {
    const why = limitOf(bodyOf(next, kindOf))
    setRefusal(why)
    if (why) return false
    search.change(next, { replace: changed.current })
    changed.current = true
    return true
  }

  useEffect(() => {
    const element = popover.current
    if (!element?.matches(':popover-open')) element?.showPopover()
  }, [])
  // Each page begins at its first control.
  const name = JSON.stringify(page)
  useEffect(() => {
    // A text box would open the on-screen keyboard.
    if (matchMedia('(pointer: coarse)').matches) return popover.current?.focus()
    const first = ['.page input', '.page :is(select, button)']
      .map((what) => popover.current?.querySelector<HTMLElement>(what))
      .find(Boolean)
    first?.focus()
  }, [name])
  const [before] = useState(() => document.activeElement)
  const closed = () => {
    close()
    // The browser restores the focus unless an input has lost it; the chip may be gone.
    setTimeout(() => {
      if (document.activeElement !== document.body) return
      const back = before?.isConnected && before !== document.body ? before : document.getElementById(addFilter)
      if (back instanceof HTMLElement) back.focus()
    })
  }

  const props = {
    change,
    open: (next: Page) => show([...pages, next]),
    replace: (next: Page) => show([...pages.slice(0, -1), next]),
  }
  return (
    <div
      ref={popover}
      popover="auto"
      tabIndex={-1}
      role="dialog"
      aria-label="Filter"
      className="builder"
      style={{ '--left': `${left}px` } as React.CSSProperties}
      onToggle={(e) => {
        if (e.newState === 'closed') closed()
      }}
    >
      <div className="head">
        {pages.length > 1 && (
          <button className="icon-button" aria-label="Back" onClick={() => show(pages.slice(0, -1))}>
            <ArrowLeft size={15} aria-hidden />
          </button>
        )}
        <h2>{titleOf(page)}</h2>
        <button className="icon-button" aria-label="Close" onClick={() => popover.current?.hidePopover()}>
          <X size={15} aria-hidden />
        </button>
      </div>
      <div className="page" key={name}>
        {page.kind === 'pick' && <Picker page={page} {...props} />}
        {page.kind === 'field' && <FieldEditor page={page} {...props} />}
        {page.kind === 'related' && <Related page={page} {...props} />}
        {page.kind === 'groups' && <Groups page={page} {...props} />}
      </div>
      {refusal && (
        <p className="problem" role="alert">
          {refusal}
        </p>
      )}
      <div className="end">
        <span className="count">{count === undefined ? '' : counted(count, state.dataset)}</span>
        <button className="button" onClick={() => popover.current?.hidePopover()}>
          Done
        </button>
      </div>
    </div>
  )
}

function titleOf(page: Page): string {
  switch (page.kind) {
    case 'pick':
      return page.scope.relation || page.scope.group ? 'Add a condition' : 'Add a filter'
    case 'field':
      return labelOf(page.key)
    case 'related':
      return capital(nouns[relationOf(page.scope.relation)?.dataset ?? 'projects'].many)
    case 'groups':
      return page.of === 'any' ? 'One of several alternatives' : 'None of these'
  }
}
