import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import type { Body } from '../api/body'
import { facetsQuery } from '../api/queries'
import type { Dataset } from '../datasets'
import { maxValues, same } from '../search/conditions'
import { useSearch } from '../search/context'
import { Notice } from '../ui/notice'
import { Choices, type Choice } from './choices'

interface Props {
  dataset: Dataset
  field: string
  /** What the counts count. */
  body: Body
  values: string[]
  set: (values: string[], unknown?: boolean) => void
  /** Whether records without a value match too; absent where that is not possible. */
  unknown?: boolean
}

// No value has this key: values are not empty.
const unknownKey = ''

/** ValuesEditor chooses among the values of an enum, with their counts. */
export function ValuesEditor({ dataset, field, body, values, set, unknown }: Props) {
  const { workspace, valueLabel, fieldsOf } = useSearch()
  const [text, setText] = useState('')
  const prefix = useDeferredValue(text.trim())
  const request = { field, limit: 50, ...(prefix ? { prefix } : {}) }
  const counts = useQuery(facetsQuery(workspace.id, dataset, body, [request]))
  const facet = counts.data?.facets[0]
  const chosen = (value: string) => values.some((v) => same(v, value))
  const choices: Choice[] = (facet?.values ?? []).map((v) => ({
    key: v.value,
    label: v.label ?? valueLabel(field, v.value, dataset),
    count: v.count,
    chosen: chosen(v.value),
  }))
  const absent = (value: string) => !choices.some((c) => same(c.key, value))
  // A value without matches can still be chosen, and a chosen one is always listed.
  const known = fieldsOf(dataset).find((d) => d.key === field)?.values ?? []
  for (const v of known) {
    const begins = v.label.toLowerCase().includes(prefix.toLowerCase())
    if (begins && absent(v.value)) choices.push({ key: v.value, label: v.label, count: 0, chosen: chosen(v.value) })
  }
  if (!prefix) {
    const others = values.filter(absent)
    choices.unshift(...others.map((key) => ({ key, label: valueLabel(field, key, dataset), chosen: true })))
    if (unknown !== undefined)
      choices.push({ key: unknownKey, label: 'Unknown', count: facet?.unknown, chosen: unknown })
  }
  const choose = (key: string) => {
    if (key === unknownKey) return set(values, !unknown)
    const rest = values.filter((v) => !same(v, key))
    set(rest.length < values.length ? rest : [...values, key].slice(0, maxValues), unknown)
  }
  const emptyText = () => {
    if (facet) return prefix ? 'No value begins so.' : 'No values.'
    if (counts.error) return <Notice error={counts.error} retry={() => void counts.refetch()} />
    return [80, 55, 65, 40].map((width) => (
      <span key={width} className="skeleton line" style={{ width: `${width}%` }} />
    ))
  }
  return (
    <Choices
      label="Values"
      placeholder="Search values"
      text={text}
      onText={setText}
      choices={facet ? choices : []}
      onChoose={choose}
      multiple
      empty={emptyText()}
    />
  )
}
