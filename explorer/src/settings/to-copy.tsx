import { Check, Copy } from 'lucide-react'
import { useState } from 'react'

interface Props {
  value: string
  label: string
}

/** ToCopy shows a text that is to be put elsewhere, with a button that copies it. */
export function ToCopy({ value, label }: Props) {
  const [copied, setCopied] = useState(false)
  return (
    <label>
      {label}
      <span className="actions">
        <input type="text" readOnly value={value} aria-label={label} onFocus={(e) => e.target.select()} />
        <button
          type="button"
          className="button"
          aria-label={`Copy: ${label}`}
          onClick={() => void navigator.clipboard.writeText(value).then(() => setCopied(true))}
        >
          {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
          {copied ? 'Copied' : 'Copy'}
        </button>
      </span>
    </label>
  )
}
