import type { QueueState } from './state'

interface Props {
  state: QueueState
  types: { value: string; label: string }[]
  change: (next: QueueState) => void
}

/** QueueFilters choose which signals of the queue are shown. */
export function QueueFilters({ state, types, change }: Props) {
  return (
    <form
      className="queue-filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const { words: _, ...rest } = state
        const words = String(new FormData(event.currentTarget).get('q') ?? '').trim()
        change(words ? { ...rest, words } : rest)
      }}
    >
      <input type="text" name="q" aria-label="Words" placeholder="Words, then Enter" defaultValue={state.words ?? ''} />
      <select
        aria-label="Type"
        value={state.type ?? ''}
        onChange={({ target: { value } }) => {
          const { type: _, ...rest } = state
          change(value ? { ...rest, type: value } : rest)
        }}
      >
        <option value="">All types</option>
        {types.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <label>
        <input
          type="checkbox"
          checked={state.inBook}
          onChange={({ target: { checked } }) => change({ ...state, inBook: checked })}
        />
        Of our book
      </label>
      <label>
        <input
          type="checkbox"
          checked={state.dismissed}
          onChange={({ target: { checked } }) => change({ ...state, dismissed: checked })}
        />
        Dismissed
      </label>
    </form>
  )
}
