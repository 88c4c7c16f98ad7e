import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import type { Body } from '../api/body'
import { facetsQuery } from '../api/queries'
import { extentQuery } from '../map/queries'
import { middleOf } from '../map/tiles'
import { nearPoint, type Place } from '../search/place'
import { useSearch } from '../search/context'
import { Choices, type Choice } from './choices'

/** How many letters a text needs, and the radius around a city and around an address, in metres. */
const least = 2
const radius = { city: 5000, address: 1000 }

interface Props {
  /** The radius that was chosen before, in metres. */
  before: number | undefined
  found: (place: Place) => void
}

/** PlaceFinder finds the middle of the projects of a city or at an address. Counting where they are is free. */
export function PlaceFinder({ before, found }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const [text, setText] = useState('')
  const wanted = useDeferredValue(text.trim())
  const enabled = [...wanted].length >= least
  const cities = useQuery({
    ...facetsQuery(workspace.id, 'projects', {}, [{ field: 'city', limit: 6, prefix: wanted }]),
    enabled,
  })
  const at: Body = { filters: { address: { value: [wanted] } } }
  const addresses = useQuery({ ...facetsQuery(workspace.id, 'projects', at, []), enabled })
  const choices: Choice[] = []
  if (enabled) {
    for (const v of cities.data?.facets[0]?.values ?? [])
      choices.push({ key: `city ${v.value}`, label: v.label ?? v.value, hint: 'city', count: v.count })
    const count = addresses.data?.count ?? 0
    if (count > 0) choices.push({ key: 'address', label: `“${wanted}”`, hint: 'in addresses', count })
  }
  const find = useMutation({
    mutationFn: async (key: string) => {
      const city = key.startsWith('city ') ? key.slice(5) : undefined
      const body = city === undefined ? at : { filters: { city: { value: [city] } } }
      const extent = await client.fetchQuery(extentQuery(client, workspace.id, body))
      const middle = extent && middleOf(extent.cells)
      if (!middle) throw new Error('Where these projects are is not known')
      return nearPoint({ ...middle, radius_m: before ?? (city === undefined ? radius.address : radius.city) })
    },
    onSuccess: found,
  })
  return (
    <>
      <Choices
        label="City or address"
        placeholder="City or address"
        text={text}
        onText={setText}
        choices={choices}
        onChoose={(key) => find.mutate(key)}
        empty={enabled && !cities.isFetching && !addresses.isFetching ? 'No project is there.' : ''}
      />
      {find.error && <p className="problem">{find.error.message}.</p>}
    </>
  )
}
