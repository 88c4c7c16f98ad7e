import './toast.css'
import { useSyncExternalStore } from 'react'

interface Toast {
  id: number
  text: string
  undo?: Undo
}

/** Undo reverts an action. It may reject: then it shows why, and can be retried. */
type Undo = () => unknown

/** How long a toast is shown, in milliseconds. */
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

/** notify confirms an action, and offers to undo it. */
export function notify(text: string, undo?: Undo): void {
  show({ id: Date.now(), text, ...(undo ? { undo } : {}) })
}

/** notifyFailure explains why something was not done. */
export const notifyFailure = (error: Error) => notify(`That did not work: ${error.message}`)

async function run(undo: Undo) {
  show(undefined)
  try {
    await undo()
  } catch (error) {
    notify(`That is not undone: ${(error as Error).message}`, undo)
  }
}

/** Toasts shows notifications; it is once on the page. */
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
          {toast.undo && <button onClick={() => toast.undo && void run(toast.undo)}>Undo</button>}
        </div>
      )}
    </div>
  )
}
