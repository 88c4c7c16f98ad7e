/** The largest page of the lists of a workspace: members, invitations, Views, Favorites. */
export const maxPage = 100

/** readAll reads a list to its end. page reads maxPage items from an offset on. */
export async function readAll<T>(page: (offset: number) => Promise<T[]>): Promise<T[]> {
  const found: T[] = []
  for (;;) {
    const next = await page(found.length)
    found.push(...next)
    if (next.length < maxPage) return found
  }
}
