import type { Body } from '../api/queries'
import { routeOf } from '../source'
import { isExact, isMixed, type SearchState } from './state'

/** quote makes a text one word of a POSIX shell. */
const quote = (text: string) => (/^[\w./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** curlOf is the search as a request. The key stays a variable: a command is pasted and kept. */
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
export function commandOf(state: SearchState, { source, any = [] }: Body): string {
  const words = ['atlas', 'search']
  if (!source) words.push(state.dataset)
  else words.push(...(source.kind === 'book' ? ['--book', state.dataset] : ['--view', source.id]))
  if (state.query) words.push('--query', quote(state.query))
  const filter = (text: string) => words.push('--filter', quote(text))
  for (const [key, c] of Object.entries(state.conditions)) {
    if (isMixed(c)) continue
    if (c.kind === 'values') c.values.forEach((v) => filter(`${key}${isExact(key) ? '==' : '='}${v}`))
    else if (c.kind === 'range') filter(`${key}=${c.from ?? ''}..${c.to ?? ''}`)
    else filter(JSON.stringify({ [key]: { known: c.known } }))
  }
  for (const group of any) words.push('--any', quote(JSON.stringify(group.filters)))
  if (state.sort) words.push('--sort', `${state.sort.field}${state.sort.order === 'desc' ? ':desc' : ''}`)
  return [...words, '--limit', '25'].join(' ')
}
