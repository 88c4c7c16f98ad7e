import type { Command } from './command'

interface Props {
  id: string
  commands: Command[]
  typed: string
  current: Command | undefined
  activate: (c: Command) => void
  run: (c: Command) => void
}

/** optionID is the id of the element of a command, by its position. */
export const optionID = (list: string, at: number) => `${list}-${at}`

/** CommandList is the listbox of the palette. The focus stays in the box. */
export function CommandList({ id, commands, typed, current, activate, run }: Props) {
  const isTyped = typed.trim() !== ''
  return (
    // The focus stays in the box.
    <div id={id} role="listbox" aria-label="Commands" onMouseDown={(e) => e.preventDefault()}>
      {grouped(commands, isTyped).map(([heading, some]) => (
        <div key={heading} role="group" aria-label={heading}>
          {!isTyped && (
            <div className="heading" role="presentation">
              {heading}
            </div>
          )}
          {some.map((c) => (
            <div
              key={c.id}
              id={optionID(id, commands.indexOf(c))}
              role="option"
              aria-selected={c === current}
              onMouseMove={() => activate(c)}
              onClick={() => run(c)}
            >
              {c.place !== undefined && <bdi className="place">{c.place}</bdi>}
              <bdi className="name">{c.name}</bdi>
              {isTyped && <span className="group">{c.group}</span>}
              {c.keys !== undefined && <kbd>{c.keys}</kbd>}
            </div>
          ))}
        </div>
      ))}
    </div>
  )
}

/** grouped are the commands by their group; of what one types the best are together. */
function grouped(commands: Command[], isTyped: boolean): [string, Command[]][] {
  if (isTyped) return commands.length > 0 ? [['Found', commands]] : []
  const by = new Map<string, Command[]>()
  for (const c of commands) by.set(c.group, [...(by.get(c.group) ?? []), c])
  return [...by]
}
