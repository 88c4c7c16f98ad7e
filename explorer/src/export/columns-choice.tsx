import { headOf } from './people'
import type { FormProps } from './use-plan'

/** ColumnsChoice is which columns a CSV file has. */
export function ColumnsChoice({ plan: { table, all, columns }, choices: { excluded, forPeople }, choose }: FormProps) {
  return (
    <fieldset>
      <legend>
        Columns{' '}
        <span className="quiet">
          {columns.length} of {all.length}
        </span>
      </legend>
      <p className="actions">
        <button type="button" className="link" onClick={() => choose({ excluded: [] })}>
          All
        </button>
        <button type="button" className="link" onClick={() => choose({ excluded: all })}>
          None
        </button>
      </p>
      <div className="columns-choice">
        {all.map((c) => (
          <label key={c}>
            <input
              type="checkbox"
              checked={!excluded.includes(c)}
              onChange={() =>
                choose({ excluded: excluded.includes(c) ? excluded.filter((l) => l !== c) : [...excluded, c] })
              }
            />
            <span>{forPeople ? headOf(table, c) : c}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
