import type { Descriptor } from '../api/queries'
import { labelOf, nouns, relationOf } from '../datasets'
import type { GroupList } from '../search/scope'
import type { Choice } from './choices'

/** Target is what a condition may be added for. */
export type Target =
  | { kind: 'field' | 'relation'; key: string }
  | { kind: 'value'; key: string; value: string }
  | { kind: 'group'; of: GroupList }

export type Option = Choice & { target: Target }

const groups: { of: GroupList; label: string; hint: string }[] = [
  { of: 'any', label: 'Either … or …', hint: 'One of several alternatives is met' },
  { of: 'none', label: 'None of …', hint: 'Leaves out what meets conditions' },
]

/** The minimum length of a text for values: one letter is in most of them. */
const minLength = 2

/**
 * optionsOf lists the options that have each word of a text in their name or description:
 * relations and groups, which the rail does not have, then fields and their values. Relations
 * cannot be nested, nor groups.
 */
export function optionsOf(
  fields: Descriptor[],
  { relations, lists }: { relations: boolean; lists: boolean },
  text: string,
): Option[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const has = (...texts: string[]) => {
    const all = texts.join(' ').toLowerCase()
    return words.every((word) => all.includes(word))
  }
  const plain = fields
    .filter((d) => d.kind !== 'relation' && has(labelOf(d.key), d.key, d.description))
    .map((d): Option => ({ ...named(d), hint: hintOf(d), target: { kind: 'field', key: d.key } }))
  // Matches in names come before matches in descriptions.
  const matchesDescription = (o: Option) => Number(!has(o.label))
  plain.sort((a, b) => matchesDescription(a) - matchesDescription(b))
  const values = fields.flatMap((d) =>
    (words.join(' ').length >= minLength ? (d.values ?? []) : [])
      .filter((v) => has(labelOf(d.key), v.label) && has(v.label))
      .map((v): Option => ({
        key: `${d.key}=${v.value}`,
        label: `${labelOf(d.key)} is ${v.label}`,
        target: { kind: 'value', key: d.key, value: v.value },
      })),
  )
  const related = fields
    .filter((d) => relations && d.kind === 'relation')
    .map((d): Option => ({ ...named(d), label: relationLabel(d.key), target: { kind: 'relation', key: d.key } }))
    .filter((o) => has(o.label))
  const combined = groups
    .filter((g) => lists && has(g.label, g.hint))
    .map(({ of, ...g }): Option => ({ key: `group ${of}`, ...g, target: { kind: 'group', of } }))
  return [
    ...withHeading('Related records', related),
    ...withHeading('Combine', combined),
    ...withHeading('Fields', plain),
    ...withHeading('Values', values),
  ]
}

const hintOf = (d: Descriptor) =>
  d.key === 'email' ? `${d.description}. Not counted: each row found costs a credit` : d.description

const named = (d: Descriptor) => ({ key: d.key, label: labelOf(d.key) })

/** relationLabel is the beginning of a relation's condition. */
function relationLabel(key: string): string {
  const relation = relationOf(key)
  return `Has ${relation?.has ? 'at least one' : 'no'} ${relation ? nouns[relation.dataset].one : 'record'} where …`
}

const withHeading = (group: string, options: Option[]) => options.map((o, i) => (i === 0 ? { ...o, group } : o))
