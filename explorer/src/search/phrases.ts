import { labelOf, nouns, relationOf, type Dataset } from '../datasets'
import { formatDay, formatNumber } from '../format'
import type { Condition, Conditions, KindOf } from './conditions'
import { phrasePlace } from './place'
import { daysOf, phraseRelative } from './relative'

/** The words of sentences about a search: its dataset, and the labels of fields and values. */
interface Words {
  state: { dataset: Dataset }
  kindOf: KindOf
  valueLabel: (key: string, value: string, dataset?: Dataset) => string
}

/** Of many values only the first are named. */
const maxValues = 8
const shownOfMany = 3

/** namedValues are the values that a phrase names. */
export const namedValues = (values: string[]) => (values.length > maxValues ? values.slice(0, shownOfMany) : values)

const or = new Intl.ListFormat('en', { type: 'disjunction' })
const and = new Intl.ListFormat('en', { type: 'conjunction' })

/** phrase continues the name of a field: "is Filed or Approved". A relation has no name before it. */
export function phrase(words: Words, key: string, c: Condition, dataset = words.state.dataset): string {
  switch (c.kind) {
    case 'known':
      return c.known ? 'is known' : 'is unknown'
    case 'values':
      return `${verbOf(words, key, c, dataset)} ${listOf(words, key, c, dataset)}`
    case 'range':
      return phraseRelative(c) ?? between(daysOf(c), words.kindOf(dataset, key) === 'date')
    case 'place':
      return phrasePlace(c)
    case 'related':
      return related(words, key, c.conditions)
  }
}

type Values = Extract<Condition, { kind: 'values' }>

function verbOf({ kindOf }: Words, key: string, c: Values, dataset: Dataset): string {
  return kindOf(dataset, key) === 'text' && !c.exact ? 'has' : 'is'
}

function listOf({ kindOf, valueLabel }: Words, key: string, c: Values, dataset: Dataset): string {
  const isText = kindOf(dataset, key) === 'text'
  const few = namedValues(c.values)
  const all = few.map((v) => (isText ? `“${v}”` : valueLabel(key, v, dataset)))
  if (few.length < c.values.length) all.push(`${formatNumber(c.values.length - few.length)} others`)
  return or.format(c.unknown ? [...all, 'unknown'] : all)
}

/** excluding continues the name of a field whose values are excluded: "is not Filed or Approved". */
export function excluding(words: Words, key: string, c: Values): string {
  const { dataset } = words.state
  const verb = verbOf(words, key, c, dataset) === 'has' ? 'has not' : 'is not'
  return `${verb} ${listOf(words, key, c, dataset)}`
}

function between({ from, to }: { from?: string; to?: string }, isDate: boolean): string {
  const show = (text: string) => (isDate ? formatDay(text) : formatNumber(Number(text)))
  if (from !== undefined && to !== undefined) {
    return from === to ? `is ${show(from)}` : `is ${show(from)} to ${show(to)}`
  }
  if (from !== undefined) return isDate ? `is from ${show(from)} on` : `is at least ${show(from)}`
  return `is up to ${show(to ?? '')}`
}

function related(words: Words, key: string, conditions: Conditions): string {
  const { dataset, has } = relationOf(key) ?? { dataset: words.state.dataset, has: true }
  const { one } = nouns[dataset]
  const where = allOf(words, conditions, dataset)
  if (!where) return has ? `has a ${one}` : `has no ${one}`
  return `has ${has ? 'at least one' : 'no'} ${one} where ${where}`
}

/** clause is a condition with the name of its field. */
export function clause(words: Words, key: string, c: Condition, dataset = words.state.dataset): string {
  return c.kind === 'related' ? phrase(words, key, c, dataset) : `${labelOf(key)} ${phrase(words, key, c, dataset)}`
}

/** allOf joins conditions that must all be met. */
export const allOf = (words: Words, conditions: Conditions, dataset = words.state.dataset) =>
  and.format(Object.entries(conditions).map(([key, c]) => clause(words, key, c, dataset)))
