import { useEffect, useId, useRef, type ReactNode } from 'react'
import { Notice } from '../ui/notice'

interface Props {
  title: string
  children: ReactNode
  /** What the button says. */
  action: string
  error: Error | null
  busy: boolean
  confirm: () => void
  close: () => void
}

/** Confirm asks before something that cannot be undone. */
export function Confirm({ title, children, action, error, busy, confirm, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} className="sheet" aria-labelledby={id} onClose={close}>
      <h2 id={id}>{title}</h2>
      {children}
      {error && <Notice error={error} />}
      <div className="dialog-actions">
        <button className="button danger" disabled={busy} onClick={confirm}>
          {action}
        </button>
        <button className="button" autoFocus onClick={close}>
          Cancel
        </button>
      </div>
    </dialog>
  )
}
