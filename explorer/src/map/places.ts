import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { Body } from '../api/body'
import { facetsQuery, suggestQuery } from '../api/queries'
import { prefixOf } from '../search/suggestions'

/**
 * Found is a place that matches a text: a city, a region or a country, projects with a name, or
 * those at an address.
 */
export interface Found {
  key: string
  label: string
  hint: string
  count?: number
  /** The search for the projects that are there. */
  body: Body
}

/** Fields of projects with their location, and their labels. */
const regions: Record<string, string> = { city: 'city', state: 'state', country: 'country' }

/** How many letters a text needs. */
const minLength = 2

/** placesQuery finds the places that match a text among all projects of the data, which is free. */
export function placesQuery(client: QueryClient, workspace: string, text: string) {
  const trimmed = text.trim()
  return queryOptions({
    queryKey: ['places', workspace, trimmed],
    staleTime: 60_000,
    retry: false,
    enabled: [...trimmed].length >= minLength && prefixOf(trimmed) !== undefined,
    queryFn: async (): Promise<Found[]> => {
      const body: Body = { filters: { address: { value: [trimmed] } } }
      const [suggestions, at] = await Promise.all([
        client.fetchQuery(suggestQuery(workspace, 'projects', prefixOf(trimmed), {})),
        client.fetchQuery(facetsQuery(workspace, 'projects', body, [])),
      ])
      const found: Found[] = []
      for (const { field, value, count } of suggestions) {
        const hint = regions[field]
        if (hint) found.push({ key: `${field} ${value}`, label: value, hint, count, body: having(field, value) })
      }
      if (at.count > 0)
        found.push({ key: 'address', label: `“${trimmed}”`, hint: 'in addresses', count: at.count, body })
      const names = new Set<string>()
      for (const { id, value } of suggestions) {
        if (id === undefined || names.has(value)) continue
        names.add(value)
        found.push({ key: `name ${value}`, label: value, hint: 'project', body: having('name', value) })
      }
      return found
    },
  })
}

const having = (field: string, value: string): Body => ({ filters: { [field]: { value: [value] } } })
