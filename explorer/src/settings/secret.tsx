import type { ReactNode } from 'react'
import { CopyField } from './copy-field'

interface Props {
  value: string
  /** The label of the secret's field. */
  label: string
  /** The name of the copied text, on the button. */
  what?: string
  children: ReactNode
  close: () => void
}

/** Secret shows a secret, which cannot be read later. */
export function Secret({ value, label, what = 'secret', children, close }: Props) {
  return (
    <div className="new-secret" role="status">
      <p>{children}</p>
      <div className="actions">
        <CopyField value={value} label={label} action={`Copy the ${what}`} />
        <button className="button" onClick={close}>
          Done
        </button>
      </div>
    </div>
  )
}
