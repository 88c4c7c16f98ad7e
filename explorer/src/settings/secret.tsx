import { Check, Copy } from 'lucide-react'
import { useState, type ReactNode } from 'react'

interface Props {
  value: string
  /** What the secret is, for its field. */
  label: string
  /** What is copied, on the button. */
  what?: string
  children: ReactNode
  close: () => void
}

/** Secret shows a secret. Nobody can read it again. */
export function Secret({ value, label, what = 'secret', children, close }: Props) {
  const [copied, setCopied] = useState(false)
  return (
    <div className="made" role="status">
      <p>{children}</p>
      <div className="actions">
        <input type="text" readOnly value={value} aria-label={label} onFocus={(e) => e.target.select()} />
        <button
          className="button"
          onClick={() => void navigator.clipboard.writeText(value).then(() => setCopied(true))}
        >
          {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
          {copied ? 'Copied' : `Copy the ${what}`}
        </button>
        <button className="button" onClick={close}>
          Done
        </button>
      </div>
    </div>
  )
}
