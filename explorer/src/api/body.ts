import type { Parts } from '../search/conditions'
import type { Source } from '../source'

/** Body is the common part of a search, a count and a facet. */
export interface Body extends Parts {
  /** Where it searches: all of Data if absent. It selects the route and is not sent. */
  source?: Source
  query?: string
  any?: Parts[]
  none?: Parts[]
}
