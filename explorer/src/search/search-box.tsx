import { Search, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { nouns } from '../datasets'
import { useSearch } from './context'

/** How long typing pauses before the counts follow, in milliseconds. */
const pause = 180

/** SearchBox counts while one types, and reads rows on Enter. */
export function SearchBox() {
  const { state, change, load } = useSearch()
  const [text, setText] = useState(state.query)
  const [shown, setShown] = useState(state.query)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // The address has changed by something else, such as back.
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

  const apply = (value: string) => {
    clearTimeout(timer.current)
    const next = { ...latest.current, query: value.trim() }
    delete next.record
    change(next, { replace: true })
    return next
  }
  const applySoon = (value: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => apply(value), pause)
  }
  const clear = () => {
    setText('')
    apply('')
  }
  return (
    <form
      className="search-box"
      role="search"
      onSubmit={(e) => {
        e.preventDefault()
        load(apply(text))
      }}
    >
      <Search size={16} aria-hidden />
      <input
        id="search"
        type="text"
        inputMode="search"
        enterKeyHint="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={500}
        aria-label={`Search ${nouns[state.dataset].many}`}
        placeholder={`Search ${nouns[state.dataset].many}`}
        value={text}
        onChange={(e) => {
          setText(e.target.value)
          applySoon(e.target.value)
        }}
        onKeyDown={(e) => {
          if (e.key === 'Escape' && text) clear()
        }}
      />
      {text ? (
        <button type="button" className="icon-button" aria-label="Clear the text" onClick={clear}>
          <X size={14} aria-hidden />
        </button>
      ) : (
        <kbd aria-hidden="true">/</kbd>
      )}
    </form>
  )
}
