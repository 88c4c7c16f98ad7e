interface Props {
  /** What is made, as in "Name of the …" and "Make a …". */
  what: 'key' | 'token'
  /** The accessible name of the choice of its lifetime. */
  lifetimeLabel: string
  placeholder: string
  /** The lifetimes to choose from, in days, with their texts. */
  lifetimes: [days: number, text: string][]
  name: string
  setName: (name: string) => void
  days: number
  setDays: (days: number) => void
  disabled: boolean
}

/** NameAndLifetime are the fields that every new key or token has, and the button that makes it. */
export function NameAndLifetime({
  what,
  lifetimeLabel,
  placeholder,
  lifetimes,
  name,
  setName,
  days,
  setDays,
  disabled,
}: Props) {
  return (
    <>
      <input
        type="text"
        required
        value={name}
        onChange={(e) => setName(e.target.value)}
        aria-label={`Name of the ${what}`}
        placeholder={placeholder}
        maxLength={120}
      />
      <select
        className="control"
        aria-label={lifetimeLabel}
        value={days}
        onChange={(e) => setDays(Number(e.target.value))}
      >
        {lifetimes.map(([n, text]) => (
          <option key={n} value={n}>
            {text}
          </option>
        ))}
      </select>
      <button className="button primary" disabled={disabled}>
        Make a {what}
      </button>
    </>
  )
}
