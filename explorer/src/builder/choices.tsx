import './choices.css'
import { Check } from 'lucide-react'
import { useId, useState, type ReactNode } from 'react'
import { formatNumber } from '../format'
import { step } from '../search/suggestions'

/** Choice is an option of a list. */
export interface Choice {
  key: string
  label: string
  /** The heading above this and the following choices. */
  group?: string
  hint?: string
  count?: number | undefined
  chosen?: boolean
}

interface Props {
  label: string
  placeholder: string
  text: string
  onText: (text: string) => void
  choices: Choice[]
  onChoose: (key: string) => void
  /** Several may be chosen. */
  multiple?: boolean
  /** What stands in place of an empty list. */
  empty: ReactNode
}

/** Choices is a text box above a list that it searches. The focus stays in the box. */
export function Choices({ label, placeholder, text, onText, choices, onChoose, multiple = false, empty }: Props) {
  const id = useId()
  const [moved, setActive] = useState<string>()
  const keys = choices.map((c) => c.key)
  const active = moved !== undefined && keys.includes(moved) ? moved : keys[0]
  const optionID = (key: string) => `${id}-${keys.indexOf(key)}`
  const move = (by: 1 | -1) => {
    // Past the last comes the first.
    const next = step(keys, active, by) ?? (by === 1 ? keys[0] : keys.at(-1))
    setActive(next)
    if (next !== undefined) document.getElementById(optionID(next))?.scrollIntoView({ block: 'nearest' })
  }
  return (
    <div className="choices">
      <input
        type="text"
        role="combobox"
        aria-label={label}
        aria-autocomplete="list"
        aria-expanded={choices.length > 0}
        aria-controls={id}
        aria-activedescendant={active === undefined ? undefined : optionID(active)}
        autoComplete="off"
        spellCheck={false}
        maxLength={500}
        placeholder={placeholder}
        value={text}
        onChange={(e) => {
          onText(e.target.value)
          setActive(undefined)
        }}
        onKeyDown={(e) => {
          if (e.nativeEvent.isComposing) return
          if (e.key === 'ArrowDown' || e.key === 'ArrowUp') move(e.key === 'ArrowDown' ? 1 : -1)
          else if (e.key === 'Enter' && active !== undefined) onChoose(active)
          else return
          e.preventDefault()
        }}
      />
      {/* The focus stays in the box. */}
      <ul
        id={id}
        role="listbox"
        aria-label={label}
        aria-multiselectable={multiple}
        onMouseDown={(e) => e.preventDefault()}
      >
        {choices.map((c) => (
          <Option
            key={c.key}
            id={optionID(c.key)}
            choice={c}
            multiple={multiple}
            active={c.key === active}
            onHover={() => setActive(c.key)}
            onChoose={() => onChoose(c.key)}
          />
        ))}
      </ul>
      {choices.length === 0 && <div className="quiet">{empty}</div>}
    </div>
  )
}

interface OptionProps {
  id: string
  choice: Choice
  multiple: boolean
  active: boolean
  onHover: () => void
  onChoose: () => void
}

function Option({ id, choice, multiple, active, onHover, onChoose }: OptionProps) {
  const { group, label, hint, count, chosen = false } = choice
  return (
    <>
      {group && (
        <li className="heading" role="presentation">
          {group}
        </li>
      )}
      <li
        id={id}
        role="option"
        aria-selected={multiple ? chosen : active}
        className={active ? 'active' : undefined}
        onMouseMove={onHover}
        onClick={onChoose}
      >
        {multiple && (
          <span className={chosen ? 'box on' : 'box'} aria-hidden="true">
            {chosen && <Check size={12} strokeWidth={3} />}
          </span>
        )}
        <bdi className="name" title={label}>
          {label}
        </bdi>
        {hint && <span className="hint">{hint}</span>}
        {count !== undefined && <span className="count">{formatNumber(count)}</span>}
      </li>
    </>
  )
}
