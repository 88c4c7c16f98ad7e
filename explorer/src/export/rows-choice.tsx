import { formatNumber } from '../format'
import type { FormProps } from './use-plan'

/** RowsChoice is how many of the rows are exported. */
export function RowsChoice({ plan: { matches }, choices: { first }, choose }: FormProps) {
  const some = () => choose({ first: String(Math.min(1000, matches ?? 1000)) })
  return (
    <fieldset>
      <legend>Rows</legend>
      <label className="choice">
        <input type="radio" name="rows" checked={first === undefined} onChange={() => choose({ first: undefined })} />
        <span>All{matches === undefined ? '' : ` ${formatNumber(matches)}`}</span>
      </label>
      <div className="choice">
        <input type="radio" name="rows" id="some" checked={first !== undefined} onChange={some} />
        <label htmlFor="some">The first</label>
        <input
          type="number"
          aria-label="How many rows"
          min={1}
          value={first ?? ''}
          placeholder="1000"
          onFocus={() => first === undefined && some()}
          onChange={(e) => choose({ first: e.target.value })}
        />
      </div>
    </fieldset>
  )
}
