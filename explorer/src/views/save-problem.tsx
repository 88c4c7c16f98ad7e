import { RequestError } from '../api/client'
import { Problem } from '../ui/problem'

/** isChanged reports that somebody has changed the View since it was read. */
export const isChanged = (error: Error | null) => error instanceof RequestError && error.code === 'revision_conflict'

/** SaveProblem explains why a View was not saved. */
export function SaveProblem({ error }: { error: Error }) {
  return <Problem error={error} texts={texts} />
}

const texts: Record<string, string> = {
  view_name_conflict: 'There is a View with this name already. Names differ in more than case and accents.',
  revision_conflict: 'Somebody has changed this View since you opened it. Saving yours takes the place of theirs.',
  limit_reached: 'This workspace has as many Views as it may have. Delete one first.',
}
