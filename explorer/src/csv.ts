// CSV as cmd/internal/search/csv.go writes it.

/**
 * likeFormula matches texts that a spreadsheet may evaluate. Some spreadsheets skip leading
 * spaces and control characters, and East Asian ones accept fullwidth signs.
 */
const likeFormula = /^(?:[\t\r\n]|[\u0000-\u0020\u00a0\u3000\ufeff]*[=+\-@＝＋－＠])/

/** textOf is a value as text: nothing for an unknown one, lists joined by ;. */
export function textOf(value: unknown): string {
  return Array.isArray(value) ? value.map((v) => String(v).replace(/[\\;]/g, '\\$&')).join(';') : String(value ?? '')
}

/** cellOf is textOf, with an apostrophe before what looks like a formula. */
export function cellOf(value: unknown): string {
  const text = textOf(value)
  return typeof value !== 'number' && likeFormula.test(text) ? `'${text}` : text
}

/** row joins cells, quoted where necessary. A single empty cell would be an empty line, which readers skip. */
export function row(cells: string[]): string {
  const quoted = cells.map((c) =>
    /[",\r\n]|^\p{White_Space}|\p{White_Space}$/u.test(c) || (cells.length === 1 && c === '')
      ? `"${c.replaceAll('"', '""')}"`
      : c,
  )
  return `${quoted.join(',')}\n`
}
