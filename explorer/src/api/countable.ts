import { relationOf } from '../datasets'
import type { Parts } from '../search/conditions'
import type { Body } from './body'

// Free requests must not reveal which e-mail addresses exist: the service refuses conditions on
// them.

const asksEmail = ({ filters = {}, relations = {} }: Parts) =>
  [filters, ...Object.values(relations)].some((conditions) => 'email' in conditions)

/** isCountable reports whether a search has no condition on e-mail addresses. */
export const isCountable = ({ any = [], none = [], ...own }: Body) => ![own, ...any, ...none].some(asksEmail)

/** countable removes conditions on e-mail addresses. The search finds the same or less. */
export function countable(body: Body): Body {
  const { filters, relations, any, none = [], ...rest } = body
  const groups = none.filter((group) => !asksEmail(group))
  return {
    ...rest,
    ...(filters ? { filters: withoutEmail(filters) } : {}),
    ...(relations ? { relations: related(relations) } : {}),
    ...(any && !any.some(asksEmail) ? { any } : {}),
    ...(groups.length > 0 ? { none: groups } : {}),
  }
}

function withoutEmail(conditions: Record<string, unknown>) {
  const { email: _, ...rest } = conditions
  return rest
}

function related(relations: NonNullable<Parts['relations']>): NonNullable<Parts['relations']> {
  const all = Object.entries(relations)
  // Having no such record at all is a stronger condition than having none with the address.
  const countableRelations = all.filter(([key, conditions]) => !('email' in conditions) || relationOf(key)?.has)
  return Object.fromEntries(countableRelations.map(([key, conditions]) => [key, withoutEmail(conditions)]))
}
