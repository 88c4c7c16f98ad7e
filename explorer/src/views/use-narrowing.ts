import { go, useAddress } from '../address'
import { viewDatasets, type ViewsFilter, type View } from '../api/views'

/** kinds are the kinds of Views, with their names; undefined is all of them. */
export const kinds: [View['view_type'] | undefined, string][] = [
  [undefined, 'All'],
  ['dynamic', 'Saved searches'],
  ['static', 'Lists'],
]

export type Narrow = ReturnType<typeof useNarrowing>['narrow']

/** useNarrowing reads which Views are listed from the address, and narrow changes it there. */
export function useNarrowing() {
  const params = new URLSearchParams(useAddress().search)
  const query = params.get('q')
  const dataset = Object.values(viewDatasets).find((d) => d === params.get('dataset'))
  const kind = kinds.find(([k]) => k === params.get('kind'))?.[0]
  const narrowing: ViewsFilter = {
    ...(query ? { query } : {}),
    ...(dataset ? { dataset } : {}),
    ...(kind ? { view_type: kind } : {}),
  }
  const narrow = (name: 'q' | 'dataset' | 'kind', value: string | undefined) => {
    const next = new URLSearchParams(location.search)
    if (value) next.set(name, value)
    else next.delete(name)
    go(next.size > 0 ? `/views?${next}` : '/views', { replace: true })
  }
  return { narrowing, narrow }
}
