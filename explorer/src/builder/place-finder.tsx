import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { placesQuery } from '../map/places'
import { extentQuery } from '../map/queries'
import { middleOf } from '../map/tiles'
import { nearPoint, type Place } from '../search/place'
import { useSearch } from '../search/context'
import { Choices } from './choices'

/** The radius around a city and around smaller places, in metres. */
const radius = { city: 5000, address: 1000 }

interface Props {
  /** The previously chosen radius, in metres. */
  before: number | undefined
  found: (place: Place) => void
}

/** PlaceFinder finds the centre of the projects of a city, at an address or with a name. Counting them is free. */
export function PlaceFinder({ before, found }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const [text, setText] = useState('')
  const query = placesQuery(client, workspace.id, useDeferredValue(text))
  const places = useQuery(query)
  const choices = query.enabled ? (places.data ?? []) : []
  const find = useMutation({
    mutationFn: async (key: string) => {
      const place = choices.find((p) => p.key === key)
      const extent = place && (await client.fetchQuery(extentQuery(client, workspace.id, place.body)))
      const middle = extent && middleOf(extent.cells)
      if (!middle) throw new Error('Where these projects are is not known')
      return nearPoint({ ...middle, radius_m: before ?? (key.startsWith('city ') ? radius.city : radius.address) })
    },
    onSuccess: found,
  })
  return (
    <>
      <Choices
        label="City or address"
        placeholder="City or address"
        text={text}
        onText={(next) => {
          setText(next)
          find.reset()
        }}
        choices={choices}
        onChoose={(key) => find.mutate(key)}
        empty={places.data ? 'No project is there.' : ''}
      />
      {(find.error ?? places.error) && <p className="problem">{(find.error ?? places.error)?.message}.</p>}
    </>
  )
}
