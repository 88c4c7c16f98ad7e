import './dialog.css'
import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'

interface Props {
  title: string
  /** Undefined while it cannot be closed. */
  onClose: (() => void) | undefined
  children: ReactNode
}

/** Dialog is open while it is rendered. The focus then returns to the previous element. */
export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className="sheet dialog"
      aria-labelledby={id}
      onCancel={(e) => {
        if (!onClose) e.preventDefault()
      }}
      onClose={(e) => {
        if (e.currentTarget.open) return
        if (onClose) onClose()
        // A second Escape closes it, even if the first was refused.
        else e.currentTarget.showModal()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
