import { Search, X } from 'lucide-react'
import { nouns } from '../datasets'
import { useSearch } from './context'
import { optionID, SuggestionList } from './suggestion-list'
import { chosen, keyOf, type Suggestion } from './suggestions'
import { useSuggestions } from './use-suggestions'
import { useSearchText } from './use-search-text'

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
export function SearchBox({ accept }: { accept: (() => void) | undefined }) {
  const { state, load, loadRecord } = useSearch()
  const { id, groups, count, current, active, setActive, move, suggest, close } = useSuggestions()
  const { text, setText, to, apply, applySoon } = useSearchText((paused) => {
    if (document.activeElement?.id === 'search') suggest(paused)
  })
  const open = count > 0
  const choose = (s: Suggestion) => {
    close()
    setText(to((latest) => chosen(latest, s)).query)
    if (s.id !== undefined) loadRecord(state.dataset, s.id)
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
        aria-controls={open ? id : undefined}
        aria-activedescendant={current && optionID(id, keyOf(current))}
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
            else suggest(text)
          } else if (e.key === 'Enter' && current) choose(current)
          else if (accept && isAfter(e) && text.trim() === state.query) {
            close()
            accept()
          } else return
          e.preventDefault()
        }}
        onBlur={close}
      />
      {open && (
        <SuggestionList
          id={id}
          dataset={state.dataset}
          groups={groups}
          active={active}
          choose={choose}
          setActive={setActive}
        />
      )}
      <p className="sr" role="status">
        {open ? `${count} suggestions` : ''}
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
