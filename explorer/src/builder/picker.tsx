import { useState } from 'react'
import { nouns } from '../datasets'
import { useSearch } from '../search/context'
import { conditionsAt, datasetAt, withConditionAt, type Page } from '../search/scope'
import type { PageProps } from './page'
import { Choices } from './choices'
import { optionsOf, type Target } from './options'

/** Picker chooses what to add a condition for: a field, a value, a relation or a group. */
export function Picker({ page: { scope }, change, open, replace }: PageProps<Extract<Page, { kind: 'pick' }>>) {
  const { state, fieldsOf } = useSearch()
  const [text, setText] = useState('')
  const dataset = datasetAt(state, scope)
  const conditions = conditionsAt(state, scope)
  const lists = !scope.group && !scope.relation
  const options = optionsOf(fieldsOf(dataset), { relations: !scope.relation, lists }, text)
  // From a list, going back returns to it; otherwise to the card of the relation or group.
  const show = lists ? open : replace
  const choose = (target: Target) => {
    if (target.kind === 'group') return show({ kind: 'groups', of: target.of })
    const { key } = target
    if (target.kind === 'field') return show({ kind: 'field', scope, key })
    if (target.kind === 'value') {
      const before = conditions[key]
      const others = before?.kind === 'values' ? before.values.filter((v) => v !== target.value) : []
      const condition = { kind: 'values' as const, values: [...others, target.value] }
      if (change(withConditionAt(state, scope, key, condition))) show({ kind: 'field', scope, key })
      return
    }
    const condition = conditions[key] ?? { kind: 'related', conditions: {} }
    if (change(withConditionAt(state, scope, key, condition))) {
      show({ kind: 'related', scope: { ...scope, relation: key } })
    }
  }
  return (
    <Choices
      label="Fields"
      placeholder={`What must be true of the ${nouns[dataset].many}?`}
      text={text}
      onText={setText}
      choices={options}
      onChoose={(key) => {
        const option = options.find((o) => o.key === key)
        if (option) choose(option.target)
      }}
      empty="No field has such a name."
    />
  )
}
