import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState, type ReactNode } from 'react'
import { rowsQuery, suggestQuery } from '../api/queries'
import { capital, counted, nouns, type Dataset, type Records } from '../datasets'
import { credits } from '../format'
import { isID, maxValues } from '../search/conditions'
import { useSearch } from '../search/context'
import { namedBy, nameQuery } from '../search/names'
import { prefixOf } from '../search/suggestions'
import { Choices, type Choice } from './choices'

interface Props {
  dataset: Dataset
  field: string
  values: string[]
  set: (values: string[]) => void
}

/** WordsEditor collects texts, or the records whose ids a field has; it suggests names. */
export function WordsEditor({ dataset, field, values, set }: Props) {
  const { workspace, kindOf, valueLabel } = useSearch()
  const client = useQueryClient()
  const [text, setText] = useState('')
  const named = kindOf(dataset, field) === 'id' ? namedBy(field) : undefined
  const source = named ?? (field === 'name' ? dataset : undefined)
  // Names of people and signals are not suggested.
  const suggests = source === 'accounts' || source === 'projects'
  const typed = text.trim()
  const prefix = useDeferredValue(suggests ? prefixOf(typed) : undefined)
  const found = useQuery({
    ...suggestQuery(workspace.id, source ?? dataset, prefix, {}),
    placeholderData: keepPreviousData,
  })
  const suggestions = (prefix !== undefined && found.data) || []

  const choices: Choice[] = []
  const offer = (choice: Choice) => {
    if (!choices.some((c) => c.key === choice.key)) choices.push(choice)
  }
  if (typed && (!named || isID(typed))) {
    offer({ key: typed, label: named ? typed : `“${typed}”`, hint: 'as typed', chosen: values.includes(typed) })
  }
  for (const s of suggestions) {
    if (s.id === undefined) continue
    const key = named ? s.id : s.value
    offer({
      key,
      label: s.value,
      hint: counted(s.count, source === 'accounts' ? 'projects' : 'signals'),
      chosen: values.includes(key),
    })
  }
  if (!typed)
    for (const key of values) offer({ key, label: named ? valueLabel(field, key, dataset) : `“${key}”`, chosen: true })

  const choose = (key: string) => {
    const name = suggestions.find((s) => s.id === key)?.value ?? people.found.find((p) => p.id === key)?.name
    if (named && name !== undefined) client.setQueryData(nameQuery(workspace.id, named, key).queryKey, name)
    const rest = values.filter((v) => v !== key)
    set(rest.length < values.length ? rest : [...values, key].slice(0, maxValues))
    setText('')
  }
  const people = usePeople(named === 'contacts' ? typed : '')
  for (const p of people.found) {
    const firm = p.account_name ? { hint: p.account_name } : {}
    offer({ key: p.id, label: p.name, ...firm, chosen: values.includes(p.id) })
  }
  const what = named ? `a ${nouns[named].one}` : 'words'
  return (
    <Choices
      label={named ? capital(nouns[named].many) : 'Words'}
      placeholder={suggests && named ? `Name or ID of ${what}` : named ? `ID of ${what}` : 'Type words, then Enter'}
      text={text}
      onText={setText}
      choices={choices}
      onChoose={choose}
      multiple
      empty={people.search ?? emptyText(named, suggests, typed)}
    />
  )
}

/** How many people a search by name shows. */
const maxPeople = 5

/** usePeople searches people by name on demand, for a credit per result. */
function usePeople(name: string): { found: Records['contacts'][]; search: ReactNode } {
  const { workspace } = useSearch()
  const [searchedName, setSearchedName] = useState<string>()
  const query = useInfiniteQuery(
    rowsQuery(workspace.id, 'contacts', { filters: { name: { value: [name] } } }, undefined, maxPeople),
  )
  const found = (query.data?.pages[0]?.rows ?? []) as Records['contacts'][]
  if (!name || isID(name)) return { found: [], search: undefined }
  if (query.data) return { found, search: found.length === 0 ? 'Nobody has such a name.' : undefined }
  if (query.error && searchedName === name) return { found, search: `The search failed: ${query.error.message}.` }
  const search = (
    <button
      type="button"
      className="button"
      disabled={query.isFetching}
      onClick={() => {
        setSearchedName(name)
        void query.fetchNextPage({ cancelRefetch: false })
      }}
    >
      Find people called “{name}” · up to {credits(maxPeople)}
    </button>
  )
  return { found, search }
}

function emptyText(named: Dataset | undefined, suggests: boolean, typed: string): string {
  if (!named) return 'All words of a text must be there, in any order. Several texts are alternatives.'
  if (!suggests) return `Type the name of a ${nouns[named].one}, or paste an ID.`
  return typed ? 'Nothing has such a name.' : `Type the name of a ${nouns[named].one}.`
}
