import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { notify } from '../ui/toast'

interface Props {
  value: string
  label: string
  /** The label of the button, and its accessible name where several have the same label. */
  action: string
  name?: string
}

/** CopyField is a text to copy, with its button. */
export function CopyField({ value, label, action, name }: Props) {
  const [copied, setCopied] = useState<string>()
  const done = copied === value
  const copy = async () => {
    try {
      // Pages without https have no clipboard.
      await navigator.clipboard.writeText(value)
      setCopied(value)
    } catch {
      notify('It is not copied: the browser does not let this page. Select the text and copy it by hand.')
    }
  }
  return (
    <>
      <input type="text" readOnly value={value} aria-label={label} onFocus={(e) => e.target.select()} />
      <button
        type="button"
        className="button"
        aria-label={name && `${done ? 'Copied' : action}: ${name}`}
        onClick={() => void copy()}
      >
        {done ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
        {done ? 'Copied' : action}
      </button>
    </>
  )
}
