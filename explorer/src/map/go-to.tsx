import './go-to.css'
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useRef, useState } from 'react'
import { Choices } from '../builder/choices'
import { useSearch } from '../search/context'
import type { Box } from '../search/place'
import { placesQuery } from './places'
import { extentQuery } from './queries'

/** GoTo moves the map to a city, to an address or to a project in the data. The search does not change. */
export function GoTo({ show }: { show: (box: Box) => void }) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const [text, setText] = useState('')
  const [open, setOpen] = useState(false)
  const typed = placesQuery(client, workspace.id, text)
  const query = placesQuery(client, workspace.id, useDeferredValue(text))
  // The list does not flicker from one letter to the next.
  const found = useQuery({ ...query, placeholderData: keepPreviousData })
  const places = open && query.enabled && found.data ? found.data : []
  const isOld = found.isPlaceholderData || query.queryKey[2] !== text.trim()
  const go = useMutation({
    // Typing and pressing Enter at once chooses the first place of the text.
    mutationFn: async (key: string | undefined) => {
      const all = await client.fetchQuery(typed)
      const place = key === undefined ? all[0] : all.find((p) => p.key === key)
      if (!place) return undefined
      const extent = await client.fetchQuery(extentQuery(client, workspace.id, place.body))
      if (!extent) throw new Error(`Where “${place.label}” is, is not known.`)
      return extent.box
    },
  })
  const box = useRef<HTMLDivElement>(null)
  const goTo = (key?: string) => {
    const addressBefore = location.href
    go.mutate(key, {
      // Not if the text or the view has changed since.
      onSuccess: (reached) => {
        if (!reached || location.href !== addressBefore) return
        show(reached)
        setOpen(false)
        // The next text is for another place.
        const typing = document.activeElement
        if (typing instanceof HTMLInputElement && box.current?.contains(typing)) typing.select()
      },
    })
  }
  const isNotFound = query.enabled && !isOld && found.data?.length === 0
  const error = go.error
    ? go.error.message
    : found.error
      ? `Places cannot be looked up now: ${found.error.message}`
      : isNotFound
        ? `No project is at “${text.trim()}”.`
        : ''
  const keys = (e: React.KeyboardEvent) => {
    if (e.nativeEvent.isComposing) return
    if (e.key === 'Enter' && typed.enabled && (isOld || places.length === 0)) goTo()
    else if (e.key === 'Escape' && (open || text)) {
      if (open && (places.length > 0 || error)) setOpen(false)
      else setText('')
    } else {
      if (e.key === 'ArrowDown') setOpen(true)
      return
    }
    e.preventDefault()
    e.stopPropagation()
  }
  return (
    <div
      ref={box}
      className="go-to"
      onFocus={() => setOpen(true)}
      onBlur={() => setOpen(false)}
      onKeyDownCapture={keys}
    >
      <Choices
        label="Go to a city, an address or a project"
        placeholder="Go to a city or address"
        text={text}
        onText={(next) => {
          setText(next)
          setOpen(true)
          go.reset()
        }}
        choices={places}
        onChoose={goTo}
        empty=""
      />
      <p className="quiet" role="status">
        {open ? error : ''}
      </p>
    </div>
  )
}
