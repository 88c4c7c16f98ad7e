import type { Page } from '../search/scope'
import type { SearchState } from '../search/state'

/** addFilter is the id of the button that opens the builder. */
export const addFilter = 'add-filter'

/** PageProps are those of each page of the builder. */
export interface PageProps<P = Page> {
  page: P
  /** Changes the search, or says why not. */
  change: (next: SearchState) => boolean
  /** Shows another page, and comes back from it. */
  open: (page: Page) => void
  /** Shows another page in place of this. */
  replace: (page: Page) => void
}
