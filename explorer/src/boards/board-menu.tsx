import { Ellipsis } from 'lucide-react'
import { useId, useState, type ReactNode } from 'react'

interface Props {
  /** What it is about. */
  of: string
  /** Actions with a dialog, by name. */
  actions: Record<string, (close: () => void) => ReactNode>
  /** Actions without a dialog, by name. */
  done?: Record<string, () => void>
}

/** Menu has the actions of a board or a tile. */
export function Menu({ of, actions, done = {} }: Props) {
  const [open, setOpen] = useState<string>()
  const id = useId()
  return (
    <div className="view-menu">
      <button className="icon-button" popoverTarget={id} aria-label={`More about ${of}`}>
        <Ellipsis size={16} aria-hidden />
      </button>
      <div id={id} popover="auto" className="menu">
        {Object.keys(actions).map((name) => (
          <button key={name} popoverTarget={id} popoverTargetAction="hide" onClick={() => setOpen(name)}>
            {name}
          </button>
        ))}
        {Object.entries(done).map(([name, act]) => (
          <button key={name} popoverTarget={id} popoverTargetAction="hide" onClick={act}>
            {name}
          </button>
        ))}
      </div>
      {open !== undefined && actions[open]?.(() => setOpen(undefined))}
    </div>
  )
}
