import { Check, Copy } from 'lucide-react'
import { useState, type ComponentType } from 'react'
import type { Selection } from './selection'
import { csvOf, jsonOf } from './texts'

export interface ActionProps {
  selection: Selection
}

/**
 * actions are the buttons of the bar below the table, in their order. Each is a component, so
 * that it can ask for more in a dialog of its own. It works on the selected rows that are
 * loaded; the bar loads the others for a price that it names.
 */
export const actions: { key: string; action: ComponentType<ActionProps> }[] = [
  {
    key: 'csv',
    action: ({ selection }) => (
      <CopyAs label="CSV" of={() => csvOf(selection.records(), selection.columns)} selection={selection} />
    ),
  },
  {
    key: 'json',
    action: ({ selection }) => <CopyAs label="JSON" of={() => jsonOf(selection.records())} selection={selection} />,
  },
  {
    key: 'ids',
    action: ({ selection }) => <CopyAs label="IDs" of={() => selection.ids.join('\n')} selection={selection} />,
  },
]

/** CopyAs copies rows that are loaded, which is free. */
function CopyAs({ label, of, selection }: { label: string; of: () => string; selection: Selection }) {
  const [copied, setCopied] = useState<string[]>()
  const done = copied === selection.ids
  const Icon = done ? Check : Copy
  return (
    <button
      className="button"
      title="Copies rows that are loaded, which is free"
      disabled={selection.ids.length === 0}
      onClick={() => void navigator.clipboard.writeText(of()).then(() => setCopied(selection.ids))}
    >
      <Icon size={13} aria-hidden /> {done ? 'Copied' : 'Copy'} {label}
    </button>
  )
}
