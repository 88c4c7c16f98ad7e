import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { suggestQuery } from '../api/queries'
import { capital, counted, nouns, type Dataset } from '../datasets'
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
    const name = suggestions.find((s) => s.id === key)?.value
    if (named && name !== undefined) client.setQueryData(nameQuery(workspace.id, named, key).queryKey, name)
    const rest = values.filter((v) => v !== key)
    set(rest.length < values.length ? rest : [...values, key].slice(0, maxValues))
    setText('')
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
      empty={emptyText(named, suggests, typed)}
    />
  )
}

function emptyText(named: Dataset | undefined, suggests: boolean, typed: string): string {
  if (!named) return 'All words of a text must be there, in any order. Several texts are alternatives.'
  if (!suggests) return `Paste the ID of a ${nouns[named].one}: their names are not suggested.`
  return typed ? 'Nothing has such a name.' : `Type the name of a ${nouns[named].one}.`
}
