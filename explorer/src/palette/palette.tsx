import './palette.css'
import { Search } from 'lucide-react'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import type { ScreenProps } from '../shell/screens'
import { found, step, type Command } from './command'
import { CommandList, optionID } from './command-list'
import { useCommands } from './use-commands'

/** Palette finds everything that can be done by its name, and does it. */
export default function Palette({ onClose, ...props }: ScreenProps & { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useId()
  const [typed, setTyped] = useState('')
  // The id of the command that Enter runs: later results do not move it.
  const [active, setActive] = useState<string>()
  const commands = found(typed, useCommands(props, typed))
  // The first result of a text stays chosen when more are found.
  if (active === undefined && commands[0]) setActive(commands[0].id)
  const at = Math.max(
    commands.findIndex((c) => c.id === active),
    0,
  )
  const current = commands[at]
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  const currentID = current && optionID(list, at)
  useEffect(() => {
    if (currentID !== undefined) document.getElementById(currentID)?.scrollIntoView({ block: 'nearest' })
  }, [currentID])
  const run = (command: Command) => {
    onClose()
    // By then the focus is restored.
    requestAnimationFrame(command.run)
  }
  return (
    <dialog
      ref={dialog}
      className="sheet palette"
      aria-label="Everything by its name"
      onClose={onClose}
      onClick={(e) => {
        if (e.target === e.currentTarget) onClose()
      }}
    >
      <div className="palette-box">
        <Search size={16} aria-hidden />
        <input
          type="text"
          role="combobox"
          aria-label="What to do or where to go"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={currentID}
          aria-autocomplete="list"
          placeholder="What to do or where to go"
          autoComplete="off"
          spellCheck={false}
          enterKeyHint="go"
          maxLength={100}
          value={typed}
          onChange={(e) => {
            setTyped(e.target.value)
            setActive(undefined)
          }}
          onKeyDown={(e) => {
            if (e.nativeEvent.isComposing) return
            const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key]
            if (by !== undefined) {
              const to = Math.abs(by) === 1 ? step(commands.length, at, by) : at + by
              setActive(commands[Math.min(Math.max(to, 0), commands.length - 1)]?.id)
            } else if (e.key === 'Enter' && current) run(current)
            else return
            e.preventDefault()
          }}
        />
        <kbd aria-hidden="true">Esc</kbd>
      </div>
      <CommandList
        id={list}
        commands={commands}
        typed={typed}
        current={current}
        activate={(c) => setActive(c.id)}
        run={run}
      />
      {commands.length === 0 && (
        <p className="nothing">
          Nothing here is called that. For records close this with <kbd>Esc</kbd> and press <kbd>/</kbd>.
        </p>
      )}
      <p className="sr" role="status">
        {`${commands.length} found`}
      </p>
    </dialog>
  )
}
