import { useEffect, useRef, useState } from 'react'
import { useSearch } from './context'
import type { SearchState } from './state'

/**
 * How long typing pauses before suggestions and before counts follow, in milliseconds. Counts
 * wait longer: they match whole words, so a half-typed word would empty the page.
 */
const pauses = { suggest: 150, count: 300 }

/** useSearchText has the text of the search box. The address follows it once typing pauses; onPause is called before that. */
export function useSearchText(onPause: (text: string) => void) {
  const { state, change } = useSearch()
  const [text, setText] = useState(state.query)
  const [shown, setShown] = useState(state.query)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // Something else has changed the address, such as going back.
  if (shown !== state.query) {
    setShown(state.query)
    if (text.trim() !== state.query) setText(state.query)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  // A filter may change while typing pauses.
  const latest = useRef(state)
  useEffect(() => {
    latest.current = state
  }, [state])

  /** to goes to the search that next makes of the latest one. */
  const to = (next: (latest: SearchState) => SearchState, options?: { replace: boolean }) => {
    clearTimeout(timer.current)
    const made = next(latest.current)
    change(made, options)
    return made
  }
  const apply = (value: string) =>
    to(
      (latest) => {
        const { record: _, ...others } = latest
        return { ...others, query: value.trim() }
      },
      { replace: true },
    )
  const applySoon = (value: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      onPause(value)
      timer.current = setTimeout(() => apply(value), pauses.count - pauses.suggest)
    }, pauses.suggest)
  }
  return { text, setText, to, apply, applySoon }
}
