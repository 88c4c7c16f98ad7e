import './chooser.css'
import { ChevronDown, ChevronUp, Columns3, GripVertical } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { useSearch } from '../search/context'
import { defaults, moved, type Chosen } from './choice'
import { fieldsOf, tableOf, type Field } from './fields'

interface Props {
  chosen: Chosen[]
  choose: (next: Chosen[]) => void
  /** It stands below the cards of a narrow page. */
  narrow?: boolean
}

/** Chooser shows, hides and orders the columns, of all fields of the records. */
export function Chooser({ chosen, choose, narrow }: Props) {
  const { state } = useSearch()
  const [text, setText] = useState('')
  const [dragged, setDragged] = useState<string>()
  const menu = useRef<HTMLDivElement>(null)
  // The control that moved an item: the item is at another position afterwards.
  const pressed = useRef<string>(undefined)
  useEffect(() => {
    if (pressed.current) menu.current?.querySelector<HTMLElement>(`[data-press="${pressed.current}"]`)?.focus()
    pressed.current = undefined
  })
  const id = useId()
  const table = tableOf(state)
  const fields = fieldsOf(table)
  const matches = (f: Field | undefined): f is Field =>
    f?.label.toLowerCase().includes(text.trim().toLowerCase()) === true
  const shown = chosen.map(({ key }) => fields.find((f) => f.key === key)).filter(matches)
  const hidden = fields.filter((f) => matches(f) && !chosen.some((c) => c.key === f.key))
  const follow = (name: string, act: () => void) => {
    pressed.current = name
    act()
  }
  const place = (key: string, to: number) => (name: string) => follow(name, () => choose(moved(chosen, key, to)))
  return (
    <>
      <button
        className="icon-button choose"
        popoverTarget={id}
        aria-label="Choose columns"
        title="Choose columns"
        style={{ anchorName: '--choose' } as React.CSSProperties}
      >
        <Columns3 size={15} aria-hidden />
      </button>
      <div id={id} popover="auto" className="menu chooser" ref={menu} onToggle={() => setText('')}>
        <div className="chooser-head">
          <h2>Columns</h2>
          {state.columns && (
            <button className="link" onClick={() => choose(defaults(table))}>
              Use the usual ones
            </button>
          )}
        </div>
        {narrow && <p className="quiet">A card has the first four.</p>}
        <input
          className="within"
          type="search"
          placeholder="Find a field"
          aria-label="Find a field"
          value={text}
          onChange={(e) => setText(e.target.value)}
        />
        <ul aria-label="Columns of the table">
          {shown.map((f) => {
            const at = chosen.findIndex((c) => c.key === f.key)
            return (
              <li
                key={f.key}
                className={dragged === f.key ? 'dragged' : undefined}
                draggable={at > 0}
                onDragStart={(e) => {
                  e.dataTransfer.setData('text/plain', f.label)
                  setDragged(f.key)
                }}
                onDragEnd={() => setDragged(undefined)}
                onDragOver={(e) => {
                  if (!dragged || at === 0) return
                  e.preventDefault()
                  if (dragged !== f.key) choose(moved(chosen, dragged, at))
                }}
              >
                <Item
                  field={f}
                  on
                  fixed={at === 0}
                  change={(name) => follow(name, () => choose(chosen.filter((c) => c.key !== f.key)))}
                />
                {at > 0 && (
                  <>
                    <Move label={`Move ${f.label} up`} name={`${f.key}-up`} off={at === 1} press={place(f.key, at - 1)}>
                      <ChevronUp size={14} aria-hidden />
                    </Move>
                    <Move
                      label={`Move ${f.label} down`}
                      name={`${f.key}-down`}
                      off={at === chosen.length - 1}
                      press={place(f.key, at + 1)}
                    >
                      <ChevronDown size={14} aria-hidden />
                    </Move>
                    <GripVertical size={14} className="quiet" aria-hidden />
                  </>
                )}
              </li>
            )
          })}
        </ul>
        {hidden.length > 0 && (
          <ul aria-label="Other fields" className="others">
            {hidden.map((f) => (
              <li key={f.key}>
                <Item field={f} change={(name) => follow(name, () => choose([...chosen, { key: f.key }]))} />
              </li>
            ))}
          </ul>
        )}
        {shown.length + hidden.length === 0 && <p className="quiet">No field is called that.</p>}
      </div>
    </>
  )
}

interface ItemProps {
  field: Field
  on?: boolean
  fixed?: boolean
  change: (name: string) => void
}

function Item({ field, on = false, fixed = false, change }: ItemProps) {
  const { state, describe } = useSearch()
  const name = `${field.key}-box`
  return (
    <label className="option" title={fixed ? 'It says which record a row is' : describe(state.dataset, field.key)}>
      <input type="checkbox" checked={on} disabled={fixed} data-press={name} onChange={() => change(name)} />
      <span className="name">{field.label}</span>
    </label>
  )
}

interface MoveProps {
  label: string
  name: string
  off: boolean
  press: (name: string) => void
  children: React.ReactNode
}

// At the end it stays a button, so that the focus is not lost there.
function Move({ label, name, off, press, children }: MoveProps) {
  return (
    <button
      className="icon-button"
      aria-label={label}
      aria-disabled={off}
      data-press={name}
      onClick={() => {
        if (!off) press(name)
      }}
    >
      {children}
    </button>
  )
}
