import { useQuery } from '@tanstack/react-query'
import { link } from '../address'
import { creditsQuery } from '../api/queries'
import { credits, formatNumber } from '../format'
import type { Plan } from './use-plan'

interface Props {
  plan: Plan
  /** Address of the search. */
  back: string
  disabled: boolean
}

/** Price is the button that names the price of an export, and what the user should know before. */
export function Price({ plan, back, disabled }: Props) {
  const window = useQuery(creditsQuery).data
  const { matches, countIsPartial, joins, rows, upTo, price, free } = plan
  return (
    <>
      {window && price > window.remaining && (
        <p className="warning">
          {window.remaining === 0 ? 'No credits are' : `Only ${credits(window.remaining)} are`} left. The export waits
          when they are used up, and goes on when they return.
        </p>
      )}
      {countIsPartial && <p className="warning">E-mail addresses are not counted: there may be more rows than this.</p>}
      <div className="actions">
        <button className="button primary" disabled={disabled}>
          {matches === undefined
            ? 'Counting…'
            : countIsPartial
              ? `Export · ${joins ? 'up to 3 credits' : '1 credit'} a row`
              : `Export ${formatNumber(rows || 0)} ${rows === 1 ? 'row' : 'rows'} · ${upTo ? 'up to ' : ''}${credits(price)}`}
        </button>
        <a className="button" {...link(back)}>
          Back to the search
        </a>
        {window && <span className="quiet">{credits(window.remaining)} left</span>}
      </div>
      {free > 0 && <p className="quiet">{formatNumber(free)} of these rows are loaded already and cost nothing.</p>}
    </>
  )
}
