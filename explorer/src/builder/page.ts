import type { Page } from '../search/scope'
import type { SearchState } from '../search/state'

/** addFilter is the id of the button that opens the builder. */
export const addFilter = 'add-filter'

/** PageProps are the props of each page of the builder. */
export interface PageProps<P = Page> {
  page: P
  /** Changes the search, or explains why not. */
  change: (next: SearchState) => boolean
  /** Opens another page, from which one can return. */
  open: (page: Page) => void
  /** Replaces this page by another. */
  replace: (page: Page) => void
}
