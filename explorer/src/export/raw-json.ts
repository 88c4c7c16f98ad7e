// JSON.parse changes the digits of numbers and the escapes of strings. An export preserves them,
// so that its file equals that of `atlas export`.

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs

/** parts returns the top-level values of a list or an object of valid JSON; those of an object with their names. */
function* parts(json: string): Generator<{ name: string | undefined; raw: string }> {
  let depth = 0
  let start = -1
  let name: string | undefined
  let end = 0
  for (const match of json.matchAll(token)) {
    const t = match[0]
    const closes = t === '}' || t === ']'
    if (closes) depth--
    if (depth === 1 && t === ':' && name === undefined) {
      name = JSON.parse(json.slice(start, end)) as string
      start = -1
    } else if ((depth === 1 && t === ',') || (depth === 0 && closes)) {
      if (start >= 0) yield { name, raw: json.slice(start, end) }
      start = -1
      name = undefined
    } else if (depth >= 1 && start < 0) start = match.index
    if (t === '{' || t === '[') depth++
    end = match.index + t.length
  }
}

/** elements returns the texts of the values of a list. */
export const elements = (json: string): string[] => Array.from(parts(json), (p) => p.raw)

/** members returns the texts of the values of an object. */
export const members = (json: string): Map<string, string> =>
  new Map(Array.from(parts(json), (p) => [p.name ?? '', p.raw]))
