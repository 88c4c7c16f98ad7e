import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Search, X } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { suggestQuery } from '../api/queries'
import { nouns } from '../datasets'
import { useSearch } from './context'
import { optionID, SuggestionList } from './suggestion-list'
import { chosen, groupsOf, keyOf, prefixOf, step, type Suggestion } from './suggestions'

/**
 * How long typing pauses before suggestions and before counts follow, in milliseconds. Counts
 * wait longer: they match whole words, so a half-typed word would empty the page.
 */
const pauses = { suggest: 150, count: 300 }

/** isAfter reports whether the right arrow is pressed at the end of a text, where it would not move the cursor. */
function isAfter({
  key,
  shiftKey,
  ctrlKey,
  metaKey,
  altKey,
  currentTarget: box,
}: React.KeyboardEvent<HTMLInputElement>) {
  const end = box.value.length
  const plain = !shiftKey && !ctrlKey && !metaKey && !altKey
  return key === 'ArrowRight' && plain && box.selectionStart === end && box.selectionEnd === end
}

/**
 * SearchBox counts and suggests while the user types, and reads rows on Enter. The right arrow at
 * the end accepts the suggested reading of the text.
 */
export function SearchBox({ take }: { take: (() => void) | undefined }) {
  const { workspace, state, body, change, load, loadRecord } = useSearch()
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

  // The text when typing paused; undefined while no suggestions are wanted.
  const [typed, setTyped] = useState<string>()
  const [active, setActive] = useState<string>()
  const list = useId()
  const prefix = prefixOf(typed ?? '')
  const query = useQuery({
    ...suggestQuery(workspace.id, state.dataset, prefix, body),
    // The list does not flicker from one letter to the next.
    placeholderData: keepPreviousData,
  })
  const suggestions = prefix === undefined || query.isError ? [] : (query.data ?? [])
  const groups = groupsOf(suggestions, state.dataset)
  const ordered = groups.flatMap((g) => g.suggestions)
  const current = ordered.find((s) => keyOf(s) === active)
  const open = ordered.length > 0
  const close = () => {
    setTyped(undefined)
    setActive(undefined)
  }
  const choose = (s: Suggestion) => {
    clearTimeout(timer.current)
    close()
    const next = chosen(latest.current, s)
    setText(next.query)
    change(next)
    if (s.id !== undefined) loadRecord(state.dataset, s.id)
  }
  const move = (by: 1 | -1) => {
    const key = step(ordered.map(keyOf), current && active, by)
    setActive(key)
    if (key !== undefined) document.getElementById(optionID(list, key))?.scrollIntoView({ block: 'nearest' })
  }

  const apply = (value: string) => {
    clearTimeout(timer.current)
    const next = { ...latest.current, query: value.trim() }
    delete next.record
    change(next, { replace: true })
    return next
  }
  const applySoon = (value: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      if (document.activeElement?.id === 'search') setTyped(value)
      timer.current = setTimeout(() => apply(value), pauses.count - pauses.suggest)
    }, pauses.suggest)
  }
  const clear = () => {
    setText('')
    close()
    apply('')
  }
  return (
    <form
      className="search-box"
      role="search"
      onSubmit={(e) => {
        e.preventDefault()
        close()
        load(apply(text))
      }}
    >
      <Search size={16} aria-hidden />
      <input
        id="search"
        type="text"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={open}
        aria-controls={open ? list : undefined}
        aria-activedescendant={current && optionID(list, keyOf(current))}
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
          setActive(undefined)
          applySoon(e.target.value)
        }}
        onKeyDown={(e) => {
          if (e.nativeEvent.isComposing) return
          if (e.key === 'Escape' && (open || text)) {
            if (open) close()
            else clear()
          } else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
            if (open) move(e.key === 'ArrowDown' ? 1 : -1)
            else setTyped(text)
          } else if (e.key === 'Enter' && current) choose(current)
          else if (take && isAfter(e) && text.trim() === state.query) {
            close()
            take()
          } else return
          e.preventDefault()
        }}
        onBlur={close}
      />
      {open && (
        <SuggestionList
          id={list}
          dataset={state.dataset}
          groups={groups}
          active={current && active}
          choose={choose}
          setActive={setActive}
        />
      )}
      <p className="sr" role="status">
        {open ? `${ordered.length} suggestions` : ''}
      </p>
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
