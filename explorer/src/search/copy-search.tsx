import { Check, Copy } from 'lucide-react'
import { useId, useState } from 'react'
import { commandOf, curlOf } from './commands'
import { useSearch } from './context'
import { goOf } from './go-program'

/** CopySearch copies the search for use elsewhere. */
export function CopySearch() {
  const { state, body, workspace } = useSearch()
  const [copied, setCopied] = useState<string>()
  const id = useId()
  const forms: [string, () => string][] = [
    ['Link to this search', () => location.href],
    ['Command of atlas', () => commandOf(state, body)],
    ['Request with curl', () => curlOf(`${location.origin}/api/v1`, state, body, workspace.id)],
  ]
  // Of Data only.
  if (!state.source) {
    const program = () => goOf(`${location.origin}/api/v1`, state.dataset, body, state.sort, workspace.id)
    forms.splice(2, 0, ['Program in Go', program])
  }
  return (
    <div className="copy">
      <button className="icon-button" popoverTarget={id} aria-label="Copy the search" title="Copy the search">
        <Copy size={15} aria-hidden />
      </button>
      <div id={id} popover="auto" className="menu" onToggle={() => setCopied(undefined)}>
        {forms.map(([label, make]) => (
          <button key={label} onClick={() => void navigator.clipboard.writeText(make()).then(() => setCopied(label))}>
            {label}
            {copied === label && <Check size={14} aria-label="copied" />}
          </button>
        ))}
      </div>
    </div>
  )
}
