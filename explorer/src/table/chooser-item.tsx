import { ChevronDown, ChevronUp, GripVertical } from 'lucide-react'
import { useSearch } from '../search/context'
import { moved, type Chosen } from './choice'
import type { Field } from './fields'

interface ShownProps {
  field: Field
  chosen: Chosen[]
  choose: (next: Chosen[]) => void
  /** Runs an action, and then focuses the control with the name. */
  follow: (name: string, act: () => void) => void
  /** The key of the column that is dragged. */
  dragged: string | undefined
  drag: (key: string | undefined) => void
}

/** ShownColumn is a column of the table, to hide and to move. The first one stays where it is. */
export function ShownColumn({ field, chosen, choose, follow, dragged, drag }: ShownProps) {
  const { key, label } = field
  const at = chosen.findIndex((c) => c.key === key)
  const place = (to: number) => (name: string) => follow(name, () => choose(moved(chosen, key, to)))
  return (
    <li
      className={dragged === key ? 'dragged' : undefined}
      draggable={at > 0}
      onDragStart={(e) => {
        e.dataTransfer.setData('text/plain', label)
        drag(key)
      }}
      onDragEnd={() => drag(undefined)}
      onDragOver={(e) => {
        if (!dragged || at === 0) return
        e.preventDefault()
        if (dragged !== key) choose(moved(chosen, dragged, at))
      }}
    >
      <Item
        field={field}
        on
        fixed={at === 0}
        change={(name) => follow(name, () => choose(chosen.filter((c) => c.key !== key)))}
      />
      {at > 0 && (
        <>
          <Move label={`Move ${label} up`} name={`${key}-up`} off={at === 1} press={place(at - 1)}>
            <ChevronUp size={14} aria-hidden />
          </Move>
          <Move label={`Move ${label} down`} name={`${key}-down`} off={at === chosen.length - 1} press={place(at + 1)}>
            <ChevronDown size={14} aria-hidden />
          </Move>
          <GripVertical size={14} className="quiet" aria-hidden />
        </>
      )}
    </li>
  )
}

interface ItemProps {
  field: Field
  on?: boolean
  fixed?: boolean
  change: (name: string) => void
}

/** Item is a field, to show or to hide. */
export function Item({ field, on = false, fixed = false, change }: ItemProps) {
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
