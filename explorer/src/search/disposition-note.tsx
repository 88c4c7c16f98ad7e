import type { Counts } from '../api/queries'
import { formatNumber } from '../format'
import { useSearch } from './context'
import { dispositionsOf } from './dispositions'
import { withCondition } from './state'

/** DispositionNote shows how many projects of a stage do not go on, which the stage does not show. */
export function DispositionNote({ counts }: { counts: Counts | undefined }) {
  const { state, change, valueLabel } = useSearch()
  const others = dispositionsOf(state, counts)
  if (others.length === 0) return null
  const texts = others.map((v) => `${formatNumber(v.count)} ${valueLabel('disposition', v.value).toLowerCase()}`)
  return (
    <p className="uncounted">
      Among them are {new Intl.ListFormat('en').format(texts)}.{' '}
      <button
        className="link"
        onClick={() => change(withCondition(state, 'disposition', { kind: 'values', values: ['active'] }))}
      >
        Only active ones
      </button>
    </p>
  )
}
