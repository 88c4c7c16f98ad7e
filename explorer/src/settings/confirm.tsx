import type { ReactNode } from 'react'
import { Dialog } from '../ui/dialog'
import { Notice } from '../ui/notice'

/** Confirmation is a change that the user has to confirm. */
export interface Confirmation {
  error: Error | null
  busy: boolean
  confirm: () => void
  close: () => void
}

interface Props extends Confirmation {
  title: string
  children: ReactNode
  /** The label of the button. */
  action: string
}

/** Confirm asks before something that cannot be undone. */
export function Confirm({ title, children, action, error, busy, confirm, close }: Props) {
  return (
    <Dialog title={title} onClose={close}>
      {children}
      {error && <Notice error={error} refused="Nothing was changed" />}
      <div className="actions">
        <button className="button" autoFocus onClick={close}>
          Cancel
        </button>
        <button className="button danger" disabled={busy} onClick={confirm}>
          {action}
        </button>
      </div>
    </Dialog>
  )
}
