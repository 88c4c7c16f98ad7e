import type { Call, Connection } from "./connection.js";
import { APIError, AtlasError, creditsOf, itemError, type Credits, type Issue } from "./errors.js";
import type { components } from "./schema.js";

export type Schemas = components["schemas"];

/** The maximum number of records of a page, and of items of a batch. */
export const MAX_PAGE = 100;

/** A page of a search. Each record costs a credit. */
export interface Page<R> {
  records: R[];
  /** Matches, counted up to 1,000. */
  total: number;
  totalIsCapped: boolean;
  /** Cursor of the next page, for `search_after`; undefined on the last. */
  next: string | undefined;
  /** A query that finds records, if this one finds none. */
  didYouMean: string | undefined;
  /** The words of the query that no record has in any form which meets the other conditions, if nothing is found. */
  missing: string[];
  /** What of each record matches the query, if `highlight` requests it. */
  highlights: Schemas["Highlight"][];
  credits: Credits;
  requestId: string;
  /** Of the queue of signals: how many of all are not dismissed. */
  unread: number | undefined;
  /** Sentences on what of the search was probably meant otherwise. */
  hints: string[];
  /**
   * Ids of records, the last ones of the page, that are not in `records`: the answer repeats an earlier one, and
   * records have become too long for `max_bytes` since. `pages` and `all` fetch them.
   */
  leftOut: string[];
}

/** The result of one input of a batch: data or an error. */
export interface Item<T> {
  index: number;
  id: string | undefined;
  data: T | undefined;
  error: APIError | undefined;
}

/** An item for each input, in their order. Items can fail although the call succeeds; items with the code `unavailable` can be retried. */
export interface Batch<T> {
  items: Item<T>[];
  succeeded: number;
  failed: number;
}

export interface BatchAnswer {
  data: { results: Result[] };
  metadata: { succeeded: number; failed: number };
}

interface Result {
  index: number;
  id?: string;
  account_id?: string;
  contact_id?: string;
  project_id?: string;
  record_id?: string;
  view_id?: string;
  data?: unknown;
  error?: { code: string; message: string; issues?: Issue[] };
}

/** Decodes the answer of a batch; read makes the data of an item. */
export function batchOf<T>(answer: BatchAnswer, read: (data: unknown) => T): Batch<T> {
  return {
    items: answer.data.results.map((r) => ({
      index: r.index,
      id: r.id ?? r.account_id ?? r.contact_id ?? r.project_id ?? r.record_id ?? r.view_id,
      data: r.data === undefined || r.data === null ? undefined : read(r.data),
      error: r.error && itemError(r.error),
    })),
    succeeded: answer.metadata.succeeded,
    failed: answer.metadata.failed,
  };
}

/** Options of every call. */
export interface Options {
  signal?: AbortSignal;
}

interface SearchAnswer<R> {
  data: R[] | { records: R[] };
  metadata: {
    total: number;
    total_is_capped: boolean;
    search_after?: string | null;
    did_you_mean?: string;
    missing?: string[];
    highlights?: Schemas["Highlight"][];
    hints?: string[];
    unread?: number;
    left_out?: string[];
  };
}

interface Paged {
  limit?: number;
  offset?: number;
  search_after?: string;
  max_bytes?: number;
}

/** The page with those records of another that it left out. */
function complete<R>(page: Page<R>, full: Page<R>): Page<R> {
  const idOf = (row: R) => (row as { account?: { id: string } }).account?.id ?? (row as { id: string }).id;
  const found = full.records.filter((r) => page.leftOut.includes(idOf(r)));
  return {
    ...page,
    records: [...page.records, ...found],
    leftOut: page.leftOut.filter((id) => !found.some((r) => idOf(r) === id)),
    credits: { ...full.credits, charged: page.credits.charged + full.credits.charged },
  };
}

function pageOf<R>({ data, metadata }: SearchAnswer<R>, response: Response): Page<R> {
  return {
    records: Array.isArray(data) ? data : data.records,
    total: metadata.total,
    totalIsCapped: metadata.total_is_capped,
    next: metadata.search_after ?? undefined,
    didYouMean: metadata.did_you_mean,
    missing: metadata.missing ?? [],
    highlights: metadata.highlights ?? [],
    credits: creditsOf(response),
    requestId: response.headers.get("X-Request-Id") ?? "",
    unread: metadata.unread,
    hints: metadata.hints ?? [],
    leftOut: metadata.left_out ?? [],
  };
}

/** Sends a batch of searches. */
export async function searchBatch<R>(connection: Connection, path: string, searches: object[], options: Options): Promise<Batch<Page<R>>> {
  const call = { body: { searches }, signal: options.signal };
  const { body, response } = await connection.send<BatchAnswer>("POST", path, call);
  const batch = batchOf(body, (data) => data);
  const items = batch.items.map((item, i): Item<Page<R>> => {
    if (item.error) return { ...item, data: undefined };
    const answer = body.data.results[i] as unknown as SearchAnswer<R> & { metadata: { credits: number } };
    const { count } = answer.data as { count?: number };
    // A dry run has no records, and counts exactly.
    const page =
      count === undefined
        ? pageOf(answer, response)
        : pageOf<R>({ data: [], metadata: { ...answer.metadata, total: count, total_is_capped: false } }, response);
    return { ...item, data: { ...page, credits: { ...page.credits, charged: answer.metadata.credits } } };
  });
  return { ...batch, items };
}

/** Pages of rows, and what they cost. R: a row, Q: a request. */
export class Pages<R, Q extends object> {
  constructor(
    protected readonly connection: Connection,
    protected readonly path: string,
    private readonly action = "search",
    private readonly most = MAX_PAGE,
  ) {}

  /** One page, of 25 records unless `limit` says otherwise. docs/api.md, "Search requests". */
  search(request: Q, options: Options = {}): Promise<Page<R>> {
    return this.page({ body: request, signal: options.signal });
  }

  private async page(call: Call): Promise<Page<R>> {
    const { body, response } = await this.connection.send<SearchAnswer<R>>("POST", `${this.path}/${this.action}`, call);
    return pageOf(body, response);
  }

  /**
   * Pages to the last one, each fetched on demand. An error ends the iteration; it can go on from `next`
   * of the last page, as `search_after`.
   *
   * With a sort by a field, a record occurs exactly once if it matches throughout and its value of that field does
   * not change.
   *
   * Records that a repetition leaves out for `max_bytes` are fetched by one more request for that page, without
   * `max_bytes` and with an Idempotency-Key of its own. It costs its records. `leftOut` of the page are then those
   * that this request did not find either.
   */
  async *pages(request: Q, options: Options = {}): AsyncGenerator<Page<R>, void, undefined> {
    let q: Q & Paged = { limit: this.most, ...request };
    for (;;) {
      let page = await this.search(q, options);
      if (page.next !== undefined && page.next === q.search_after) {
        throw new AtlasError("the next page has the cursor of this one");
      }
      if (page.leftOut.length > 0) {
        const whole = { ...q };
        delete whole.max_bytes;
        page = complete(page, await this.page({ body: whole, randomKey: true, signal: options.signal }));
      }
      yield page;
      if (page.next === undefined) return;
      q = { ...q, search_after: page.next };
      delete q.offset;
    }
  }

  /** The records of `pages`. A loop that ends early has paid for its whole page: set `limit`. */
  async *all(request: Q, options: Options = {}): AsyncGenerator<R, void, undefined> {
    for await (const page of this.pages(request, options)) yield* page.records;
  }

  /** How many records match exactly, and what a page would cost. It is free. */
  cost(request: Q, options: Options = {}): Promise<{ count: number; credits: number }> {
    const body = { ...request, dry_run: true };
    return this.connection.data("POST", `${this.path}/${this.action}`, { body, signal: options.signal });
  }
}

/** What can be searched page by page. R: its records, Q: a search request. */
export class Searchable<R, Q extends object> extends Pages<R, Q> {
  /** How the query is read, undefined without one. It is free. */
  async explain(request: Q, options: Options = {}): Promise<Schemas["Explanation"] | undefined> {
    const body = { ...request, dry_run: true, explain: true };
    const data = await this.connection.data<Schemas["DryRun"]["data"]>("POST", `${this.path}/search`, { body, signal: options.signal });
    return data.explanation;
  }
}

/** The field of the rows or columns of a pivot: an enum with a limit, or a date with an interval. */
export type PivotBy = { field: string; limit?: number } | { field: string; interval: "month" | "quarter" | "year" };

/** A request for a pivot, with the conditions of a request for facets. docs/api.md, "Pivot". */
export type PivotRequest<F extends object> = Omit<F, "facets"> & {
  rows: PivotBy;
  columns?: PivotBy;
  measure?: { field: string; of: "sum" | "average" | "min" | "max" | "median" };
  dry_run?: boolean;
};

/** What can be searched and counted: a dataset, a book, a View. F: a request for facets. */
export class Source<R, Q extends object, F extends object> extends Searchable<R, Q> {
  /** Counts the records of a search and how they are distributed. It is free. */
  facets(request: F, options: Options = {}): Promise<Schemas["FacetCounts"]> {
    return this.connection.data("POST", `${this.path}/facets`, { body: request, signal: options.signal });
  }

  /** Counts the records of a search by one field or two. It is free. */
  pivot(request: PivotRequest<F>, options: Options = {}): Promise<Schemas["Pivot"]> {
    return this.connection.data("POST", `${this.path}/pivot`, { body: request, signal: options.signal });
  }
}

/**
 * Accounts, each with a project and the person whom one calls first. Each record of a row costs a credit; `limit` is at
 * most 33. docs/api.md, "Join".
 */
export class Joins<R, Q extends object> extends Pages<R, Q> {
  constructor(connection: Connection, path: string) {
    super(connection, path, "join", 33);
  }
}
