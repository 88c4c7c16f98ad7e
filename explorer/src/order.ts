/** moved is a list with the item at one position at another; the others keep their order. */
export function moved<T>(list: T[], from: number, to: number): T[] {
  const rest = list.filter((_, i) => i !== from)
  return [...rest.slice(0, to), ...list.slice(from, from + 1), ...rest.slice(to)]
}
