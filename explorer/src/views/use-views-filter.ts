import { go, useAddress } from '../address'
import { viewDatasets, type ViewsFilter, type View } from '../api/views'

/** kinds are the kinds of Views, with their names; undefined is all of them. */
export const kinds: [View['view_type'] | undefined, string][] = [
  [undefined, 'All'],
  ['dynamic', 'Saved searches'],
  ['static', 'Lists'],
]

export type SetViewsFilter = ReturnType<typeof useViewsFilter>['setFilter']

/** useViewsFilter reads the filter of the list of Views from the address; setFilter changes it there. */
export function useViewsFilter() {
  const params = new URLSearchParams(useAddress().search)
  const query = params.get('q')
  const dataset = Object.values(viewDatasets).find((d) => d === params.get('dataset'))
  const kind = kinds.find(([k]) => k === params.get('kind'))?.[0]
  const filter: ViewsFilter = {
    ...(query ? { query } : {}),
    ...(dataset ? { dataset } : {}),
    ...(kind ? { view_type: kind } : {}),
  }
  const setFilter = (name: 'q' | 'dataset' | 'kind', value: string | undefined) => {
    const next = new URLSearchParams(location.search)
    if (value) next.set(name, value)
    else next.delete(name)
    go(next.size > 0 ? `/views?${next}` : '/views', { replace: true })
  }
  return { filter, setFilter }
}
