import type { Schemas } from '../api/client'

type Fragment = Schemas['Fragment']

/** marksIn returns the matching parts of a text, in order, in code points. */
export function marksIn(fragments: Fragment[]): [number, number][] {
  return fragments.flatMap((f) => f.marks.map(([from = 0, to = 0]): [number, number] => [f.from + from, f.from + to]))
}

/** Marked is a text with the matches of the search marked. */
export function Marked({ text, fragments }: { text: string; fragments: Fragment[] }) {
  // As the service counts: code points, not surrogates.
  const letters = Array.from(text)
  const parts: React.ReactNode[] = []
  let end = 0
  for (const [from, to] of marksIn(fragments)) {
    if (from < end || to > letters.length) continue
    parts.push(letters.slice(end, from).join(''), <mark key={from}>{letters.slice(from, to).join('')}</mark>)
    end = to
  }
  return (
    <>
      {parts}
      {letters.slice(end).join('')}
    </>
  )
}
