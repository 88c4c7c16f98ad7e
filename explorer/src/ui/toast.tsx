import './toast.css'
import { useSyncExternalStore } from 'react'

interface Toast {
  id: number
  text: string
  undo?: () => void
}

/** How long a toast is there, in milliseconds. */
const life = 8000

let current: Toast | undefined
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function show(toast: Toast | undefined) {
  current = toast
  clearTimeout(timer)
  if (toast) timer = setTimeout(() => show(undefined), life)
  listeners.forEach((listen) => listen())
}

/** notify says what was done, and offers to undo it. */
export function notify(text: string, undo?: () => void): void {
  show({ id: Date.now(), text, ...(undo ? { undo } : {}) })
}

/** Toasts is where notify shows; it is once on the page. */
export function Toasts() {
  const toast = useSyncExternalStore(
    (listen) => {
      listeners.add(listen)
      return () => {
        listeners.delete(listen)
      }
    },
    () => current,
  )
  return (
    <div className="toasts" role="status">
      {toast && (
        <div className="toast" key={toast.id}>
          {toast.text}
          {toast.undo && (
            <button
              onClick={() => {
                show(undefined)
                toast.undo?.()
              }}
            >
              Undo
            </button>
          )}
        </div>
      )}
    </div>
  )
}
