import { headOf } from './people'
import type { FormProps } from './use-plan'

/** ColumnsChoice is which columns a CSV file has. */
export function ColumnsChoice({ plan: { table, all, columns }, choices: { left, forPeople }, choose }: FormProps) {
  return (
    <fieldset>
      <legend>
        Columns{' '}
        <span className="quiet">
          {columns.length} of {all.length}
        </span>
      </legend>
      <p className="actions">
        <button type="button" className="link" onClick={() => choose({ left: [] })}>
          All
        </button>
        <button type="button" className="link" onClick={() => choose({ left: all })}>
          None
        </button>
      </p>
      <div className="columns-choice">
        {all.map((c) => (
          <label key={c}>
            <input
              type="checkbox"
              checked={!left.includes(c)}
              onChange={() => choose({ left: left.includes(c) ? left.filter((l) => l !== c) : [...left, c] })}
            />
            <span>{forPeople ? headOf(table, c) : c}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
