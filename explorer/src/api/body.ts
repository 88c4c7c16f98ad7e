import type { Parts } from '../search/conditions'
import type { Source } from '../source'

/** Body is what a search, a count and a facet share. */
export interface Body extends Parts {
  /** Where it looks: all of Data if absent. It chooses the route and is not sent. */
  source?: Source
  query?: string
  any?: Parts[]
  none?: Parts[]
}
