import { deflateSync, inflateSync, strFromU8, strToU8 } from 'fflate'
import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import type { AnyRecord } from '../datasets'
import type { Schemas } from './client'

/** Marks are the parts of a record that match the search, by field. */
export type Marks = Schemas['Highlight']['fields']

/** How many rows stay unpacked. */
const maxUnpacked = 2000

/** The unpacked pages, the least recently read first, and the total of their rows. */
const unpacked = new Map<Page, AnyRecord[]>()
let unpackedRows = 0

function cacheUnpacked(page: Page, rows: AnyRecord[]) {
  if (unpacked.delete(page)) unpackedRows -= rows.length
  unpacked.set(page, rows)
  unpackedRows += rows.length
  for (const [oldest, { length }] of unpacked) {
    if (unpackedRows <= maxUnpacked) break
    unpacked.delete(oldest)
    unpackedRows -= length
  }
}

/** Packed is a page as a message. */
export interface Packed {
  ids: readonly string[]
  bytes: Uint8Array<ArrayBuffer>
  next: string | undefined
  highlights: Schemas['Highlight'][]
  read: Read
}

/** Read is when rows were read, in milliseconds, and from which release, if that is known. */
export interface Read {
  at: number
  release?: string | undefined
}

/**
 * Page has rows that were paid for. It stores them packed, in about a tenth of the memory of the
 * objects, and unpacks them when they are read.
 */
export class Page {
  readonly ids: readonly string[]
  readonly #packed: Uint8Array<ArrayBuffer>
  readonly #marks: ReadonlyMap<string, Marks>

  constructor(
    rows: AnyRecord[],
    /** The cursor of the next page. */
    readonly next: string | undefined,
    readonly highlights: Schemas['Highlight'][] = [],
    readonly read: Read = { at: Date.now() },
    packed?: Pick<Packed, 'ids' | 'bytes'>,
  ) {
    this.#marks = new Map(highlights.map((h) => [h.id, h.fields]))
    this.ids = packed?.ids ?? rows.map((r) => r.id)
    // A copy without what the packer allocated beyond its end.
    this.#packed = packed?.bytes ?? deflateSync(strToU8(JSON.stringify(rows))).slice()
    if (!packed) cacheUnpacked(this, rows)
  }

  /** of is a page that another tab has packed. */
  static of({ next, highlights, read, ...packed }: Packed): Page {
    return new Page([], next, highlights, read, packed)
  }

  /** packed is the page as a message to another tab. */
  packed(): Packed {
    return { ids: this.ids, bytes: this.#packed, next: this.next, highlights: this.highlights, read: this.read }
  }

  get rows(): AnyRecord[] {
    const rows = unpacked.get(this) ?? (JSON.parse(strFromU8(inflateSync(this.#packed))) as AnyRecord[])
    cacheUnpacked(this, rows)
    return rows
  }

  at(index: number): AnyRecord | undefined {
    return this.rows[index]
  }

  marks(id: string): Marks | undefined {
    return this.#marks.get(id)
  }
}

/** DerivedPage has rows of other pages, filtered or sorted by the client. It stores only their positions. */
export class DerivedPage extends Page {
  override readonly ids: readonly string[]

  constructor(
    private readonly from: Rows,
    private readonly order: readonly number[],
  ) {
    super([], undefined, [], from.pages[0]?.read)
    this.ids = order.map((i) => from.id(i) ?? '')
  }

  override get rows(): AnyRecord[] {
    return this.order.flatMap((i) => this.from.at(i) ?? [])
  }

  override at(index: number): AnyRecord | undefined {
    return this.from.at(this.order[index] ?? -1)
  }

  override marks(id: string): Marks | undefined {
    for (const page of this.from.pages) {
      const marks = page.marks(id)
      if (marks) return marks
    }
    return undefined
  }
}

/** Rows are the rows of pages by their position. */
export class Rows {
  readonly length: number
  readonly #starts: number[] = []

  constructor(readonly pages: readonly Page[]) {
    let length = 0
    for (const page of pages) {
      this.#starts.push(length)
      length += page.ids.length
    }
    this.length = length
  }

  at(index: number): AnyRecord | undefined {
    const [page, i] = this.#find(index)
    return page?.at(i)
  }

  /** marks returns the parts of a record that match the search. */
  marks(index: number): Marks | undefined {
    const [page, i] = this.#find(index)
    const id = page?.ids[i]
    return id === undefined ? undefined : page?.marks(id)
  }

  id(index: number): string | undefined {
    const [page, i] = this.#find(index)
    return page?.ids[i]
  }

  /** ids returns those from one position to another (exclusive). */
  ids(from = 0, to = this.length): string[] {
    return this.pages.flatMap((page, n) => {
      const start = this.#starts[n] ?? 0
      return start >= to || start + page.ids.length <= from ? [] : page.ids.slice(Math.max(0, from - start), to - start)
    })
  }

  /** indexOf returns the position of a record, -1 if it is not among the rows. */
  indexOf(id: string): number {
    for (const [n, page] of this.pages.entries()) {
      const i = page.ids.indexOf(id)
      if (i >= 0) return (this.#starts[n] ?? 0) + i
    }
    return -1
  }

  #find(index: number): [Page | undefined, number] {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#starts[middle] ?? 0) <= index) low = middle
      else high = middle - 1
    }
    return [this.pages[low], index - (this.#starts[low] ?? 0)]
  }
}

/**
 * changeRows changes loaded rows of the searches under a key, such as the rows of a View. It returns
 * a function that reverts the change, unless the rows have changed since.
 */
export function changeRows(
  client: QueryClient,
  queryKey: unknown[],
  change: (rows: AnyRecord[]) => AnyRecord[],
): () => void {
  const before = client.getQueriesData<InfiniteData<Page>>({ queryKey })
  const after = client.setQueriesData<InfiniteData<Page>>(
    { queryKey },
    (data) =>
      data && {
        ...data,
        pages: data.pages.map((page) => new Page(change(page.rows), page.next, page.highlights, page.read)),
      },
  )
  return () => {
    for (const [i, [key, changed]] of after.entries()) {
      if (client.getQueryData(key) === changed) client.setQueryData(key, before[i]?.[1])
    }
  }
}
