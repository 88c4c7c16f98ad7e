import { useEffect, useRef } from 'react'
import { addFilter } from './sentence'

const keys: [string, string][] = [
  ['/', 'Search'],
  ['f', 'Add a filter'],
  ['j  k', 'Next and previous row'],
  ['Enter', 'Open the row; in the search box: load rows'],
  ['Esc', 'Close the record'],
  ['?', 'This list'],
]

/** useShortcuts listens for the keys of the page, and returns the list that ? shows. */
export function useShortcuts() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      const typing =
        e.target instanceof HTMLElement &&
        e.target.matches('input:not([type=checkbox], [type=radio]), textarea, select')
      if (typing || e.metaKey || e.ctrlKey || e.altKey || document.querySelector('dialog[open]')) return
      if (e.key === '/') document.getElementById('search')?.focus()
      else if (e.key === 'f') document.getElementById(addFilter)?.click()
      else if (e.key === '?') dialog.current?.showModal()
      else if ((e.key === 'j' || e.key === 'k') && !e.defaultPrevented) {
        document.querySelector<HTMLElement>('[role=row][tabindex="0"]')?.focus()
      } else return
      e.preventDefault()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
  return (
    <dialog ref={dialog} className="sheet keys" aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <dl>
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(/\s+/).map((k) => (
                <kbd key={k}>{k}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button className="button">Close</button>
      </form>
    </dialog>
  )
}
