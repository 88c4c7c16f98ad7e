import type { Body } from '../api/body'
import { routeOf } from '../source'
import { isExact, isMixed, write, type Condition, type Pair } from './conditions'
import type { SearchState } from './state'

/** quote makes a text one word of a POSIX shell. */
const quote = (text: string) => (/^[\w./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** curlOf is the search as a request. The key is a variable: commands are pasted and stored. */
export function curlOf(base: string, state: SearchState, body: Body, workspace: string): string {
  const { source, ...conditions } = body
  const request = JSON.stringify({ ...conditions, ...(state.sort ? { sort: state.sort } : {}), limit: 25 })
  return [
    `curl -s ${quote(`${base}${routeOf(state.dataset, source)}/search?workspace_id=${workspace}`)}`,
    '-H "Authorization: Bearer $ATLAS_API_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${quote(request)}`,
  ].join(' \\\n  ')
}

/** commandOf is the search as a command of the program atlas. */
export function commandOf(
  state: SearchState,
  { source, filters = {}, relations = {}, any = [], none = [] }: Body,
): string {
  const words = ['atlas', 'search']
  if (!source) words.push(state.dataset)
  else words.push(...(source.kind === 'book' ? ['--book', state.dataset] : ['--view', source.id]))
  if (state.query) words.push('--query', quote(state.query))
  const filter = (text: string) => words.push('--filter', quote(text))
  for (const [key, c] of Object.entries(state.conditions)) {
    if (isMixed(c)) continue
    const exact = isExact(key) && c.kind === 'values' ? { ...c, exact: true } : c
    if (isPair(exact)) write({ [key]: exact }).forEach((pair) => filter(writePair(pair)))
    else filter(JSON.stringify({ [key]: relations[key] ?? filters[key] }))
  }
  for (const g of any) words.push('--any', quote(JSON.stringify({ ...g.filters, ...g.relations })))
  for (const g of none) words.push('--none', quote(JSON.stringify({ ...g.filters, ...g.relations })))
  if (state.sort) words.push('--sort', `${state.sort.field}${state.sort.order === 'desc' ? ':desc' : ''}`)
  return [...words, '--limit', '25'].join(' ')
}

const writePair = ([name, value]: Pair) => (value === '' ? name : `${name}=${value}`)

/** isPair reports whether a condition has the form KEY=VALUE; otherwise it is written as JSON. */
function isPair(c: Condition): boolean {
  if (c.kind === 'related') return Object.values(c.conditions).every(isPair)
  // The command line reads == as the whole text.
  if (c.kind === 'values') return c.exact || !c.values.some((v) => v.startsWith('='))
  return c.kind !== 'known'
}
