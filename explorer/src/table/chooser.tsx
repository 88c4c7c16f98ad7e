import './chooser.css'
import { Columns3 } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { useSearch } from '../search/context'
import { defaults, type Chosen } from './choice'
import { Item, ShownColumn } from './chooser-item'
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
  const { menu, follow } = useFollow()
  const id = useId()
  const table = tableOf(state)
  const fields = fieldsOf(table)
  const matches = (f: Field | undefined): f is Field =>
    f?.label.toLowerCase().includes(text.trim().toLowerCase()) === true
  const shown = chosen.map(({ key }) => fields.find((f) => f.key === key)).filter(matches)
  const hidden = fields.filter((f) => matches(f) && !chosen.some((c) => c.key === f.key))
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
          className="filter-input"
          type="search"
          placeholder="Find a field"
          aria-label="Find a field"
          value={text}
          onChange={(e) => setText(e.target.value)}
        />
        <ul aria-label="Columns of the table">
          {shown.map((f) => (
            <ShownColumn
              key={f.key}
              field={f}
              chosen={chosen}
              choose={choose}
              follow={follow}
              dragged={dragged}
              drag={setDragged}
            />
          ))}
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

/** useFollow moves the focus with the control that moves an item: the item is at another position afterwards. */
function useFollow() {
  const menu = useRef<HTMLDivElement>(null)
  const pressed = useRef<string>(undefined)
  useEffect(() => {
    if (pressed.current) menu.current?.querySelector<HTMLElement>(`[data-press="${pressed.current}"]`)?.focus()
    pressed.current = undefined
  })
  const follow = (name: string, act: () => void) => {
    pressed.current = name
    act()
  }
  return { menu, follow }
}
