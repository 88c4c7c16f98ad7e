import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { suggestQuery } from '../api/queries'
import { useSearch } from './context'
import { optionID } from './suggestion-list'
import { groupsOf, keyOf, prefixOf, step } from './suggestions'

/** useSuggestions has the suggestions for a text, and the active one of them. */
export function useSuggestions() {
  const { workspace, state, body } = useSearch()
  // Undefined while no suggestions are wanted.
  const [text, suggest] = useState<string>()
  const [key, setActive] = useState<string>()
  const id = useId()
  const prefix = prefixOf(text ?? '')
  const query = useQuery({
    ...suggestQuery(workspace.id, state.dataset, prefix, body),
    // The list does not flicker from one letter to the next.
    placeholderData: keepPreviousData,
  })
  const suggestions = prefix === undefined || query.isError ? [] : (query.data ?? [])
  const groups = groupsOf(suggestions, state.dataset)
  const ordered = groups.flatMap((g) => g.suggestions)
  const current = ordered.find((s) => keyOf(s) === key)
  const active = current && key
  const move = (by: 1 | -1) => {
    const next = step(ordered.map(keyOf), active, by)
    setActive(next)
    if (next !== undefined) document.getElementById(optionID(id, next))?.scrollIntoView({ block: 'nearest' })
  }
  const close = () => {
    suggest(undefined)
    setActive(undefined)
  }
  return { id, groups, count: ordered.length, current, active, setActive, move, suggest, close }
}
