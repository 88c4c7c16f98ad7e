/** fold makes texts equal that differ in case and accents only. */
export const fold = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

// What a letter of the query is worth where it is found.
const begins = 8
const follows = 5
const within = 1

const isWord = (c: string | undefined) => c !== undefined && /[\p{L}\p{N}]/u.test(c)

/** wordIn is the score of a word's letters in a text, in their order; undefined: not all match. */
function wordIn(word: string, text: string): number | undefined {
  let best: number | undefined
  // Of each place where it may begin the letters that come next.
  for (let start = text.indexOf(word.charAt(0)); start >= 0; start = text.indexOf(word.charAt(0), start + 1)) {
    let score = 0
    let at = start - 1
    for (const c of word) {
      const next = text.indexOf(c, at + 1)
      if (next < 0) return best
      const first = !isWord(text[next - 1])
      score += first ? begins : next === at + 1 ? follows : within
      // Letters far from each other are found by chance.
      score -= Math.min(next - Math.max(at, start) - 1, 4)
      at = next
    }
    if (best === undefined || score > best) best = score
  }
  return best
}

/**
 * fuzzy is the score of a text for the typed one, the higher the better: all letters of each word
 * must match in their order. Undefined if they do not.
 */
export function fuzzy(query: string, text: string): number | undefined {
  const words = fold(query).split(/\s+/).filter(Boolean)
  const folded = fold(text)
  let score = 0
  for (const word of words) {
    const found = wordIn(word, folded)
    // Less than a letter and a half each is chance.
    if (found === undefined || found < word.length * 1.5) return undefined
    score += found
  }
  return score
}
