import { Connection, type Attempt, type Retry } from "./connection.js";
import { AtlasError, creditsOf, type Credits } from "./errors.js";
import { batchOf, Joins, searchBatch, Source, type Batch, type BatchAnswer, type Options, type Page, type Schemas } from "./source.js";
import {
  Alerts,
  ApiKeys,
  Audit,
  Boards,
  Favorites,
  Identity,
  Invitations,
  Members,
  Provisioning,
  Queue,
  segment,
  Skills,
  Subscriptions,
  walk,
  Webhooks,
} from "./workspace.js";

/** The records, requests and answers of the API, by their names in the OpenAPI document. */
export type { Schemas };

/** Members to show and related records to embed. */
export interface Shown extends Options {
  include?: string[];
  fields?: string[];
}

/** A change of a record: `upsert`, `delete`, `merge` into another, or `leave` of the filters. */
export interface Change<R> {
  op: string;
  id: string;
  at: string;
  /** The fields of an upsert with other values; null: all. */
  changed?: string[] | null;
  /** The record into which a merged one was merged. */
  into?: string;
  /** As it is now, of an upsert, if requested. */
  record?: R;
}

/** A page of changes. `next` is the cursor of what follows. */
export interface Changes<R> {
  changes: Change<R>[];
  next: string;
  caughtUp: boolean;
  lagSeconds: number;
  credits: Credits;
}

/** A page of changes of the workspace. */
export interface WorkspaceChanges {
  changes: Schemas["WorkspaceChange"][];
  next: string;
  caughtUp: boolean;
  lagSeconds: number;
}

/** Pages from a cursor on, without end. */
async function* followed<P extends { next: string; caughtUp: boolean }>(
  cursor: string,
  read: (cursor: string) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  for (;;) {
    const page = await read(cursor);
    if (!page.caughtUp && page.next === cursor) throw new AtlasError("the next changes have the cursor of these");
    yield page;
    cursor = page.next;
  }
}

interface ChangesRequest {
  cursor?: string;
  wait_s?: number;
}

/** A global dataset. C: a request for changes, S: one for suggestions. */
export class Dataset<R, Q extends object, F extends object, C extends object, S extends object> extends Source<R, Q, F> {
  /** A record, for a credit, with up to 25 related ones of each kind. Throws APIError `not_found`, which is free. */
  get(id: string, show: Shown = {}): Promise<R> {
    const params = { include: show.include?.join(","), fields: show.fields?.join(",") };
    return this.connection.data("GET", this.path + segment(id), { params, signal: show.signal });
  }

  /** 1 to 100 records; each that is found costs a credit. */
  async getAll(ids: string[], { signal, ...show }: Shown = {}): Promise<Batch<R>> {
    const call = { body: { ids, ...show }, signal };
    return batchOf((await this.connection.send<BatchAnswer>("POST", `${this.path}/get/batch`, call)).body, (d) => d as R);
  }

  /** The conditions that a question in words says. It applies nothing and is free. */
  read(request: Schemas["ReadRequest"], options: Options = {}): Promise<Schemas["Reading"]> {
    return this.connection.data("POST", `${this.path}/read`, { body: request, signal: options.signal });
  }

  /** Names and values that begin with a text. It is free. */
  async suggest(request: S, options: Options = {}): Promise<Schemas["Suggestion"][]> {
    const call = { body: request, signal: options.signal };
    return (await this.connection.data<Schemas["SuggestionList"]>("POST", `${this.path}/suggest`, call)).suggestions;
  }

  /**
   * What was published after a cursor or a time; without either, a cursor from now on. A record costs a credit. Throws
   * APIError `cursor_too_old`: take a new cursor, then reread all records.
   */
  async changes(request: C, options: Options = {}): Promise<Changes<R>> {
    const call = { body: request, signal: options.signal };
    const { body, response } = await this.connection.send<{ data: Change<R>[]; metadata: Schemas["ChangesMetadata"] }>(
      "POST",
      `${this.path}/changes`,
      call,
    );
    const { next, caught_up, lag_s } = body.metadata;
    return { changes: body.data, next, caughtUp: caught_up, lagSeconds: lag_s, credits: creditsOf(response) };
  }

  /**
   * Pages of changes from a cursor on, without end: the next when something is published, or `wait_s` (15) seconds
   * later. It can go on from `next` of the last page.
   */
  async *follow(cursor: string, request?: Omit<C, "cursor" | "since">, options: Options = {}): AsyncGenerator<Changes<R>, void, undefined> {
    yield* followed(cursor, (at) => {
      const q: ChangesRequest = { wait_s: 15, ...request, cursor: at };
      return this.changes(q as C, options);
    });
  }
}

/** The results of a match, in the order of the inputs. */
export interface Matches<M> {
  results: M[];
  credits: Credits;
}

/** A dataset whose records can be found from a list of one's own. */
export class Matchable<R, Q extends object, F extends object, C extends object, S extends object, MQ extends object, M> extends Dataset<
  R,
  Q,
  F,
  C,
  S
> {
  /** The records that 1 to 100 inputs describe. Each record returned costs a credit. */
  async match(request: MQ, options: Options = {}): Promise<Matches<M>> {
    const call = { body: request, signal: options.signal };
    const { body, response } = await this.connection.send<{ data: { results: M[] } }>("POST", `${this.path}/match`, call);
    return { results: body.data.results, credits: creditsOf(response) };
  }
}

/** The workspace's records of a dataset, with what it wrote about them. A search sees all earlier writes. */
export class Book<Row, Q extends object, F extends object, Held, Upsert> extends Source<Row, Q, F> {
  /** The conditions that a question in words says, as of a dataset. */
  read(request: Schemas["ReadRequest"], options: Options = {}): Promise<Schemas["Reading"]> {
    return this.connection.data("POST", `${this.path}/read`, { body: request, signal: options.signal });
  }

  /** A record of the book, for a credit. */
  get(id: string, show: Omit<Shown, "include"> = {}): Promise<Held> {
    const params = { fields: show.fields?.join(",") };
    return this.connection.data("GET", this.path + segment(id), { params, signal: show.signal });
  }

  /** Adds a record, or changes what the workspace wrote about it: null clears a value, one that is left out stays.
   *  `expected` is what the change is made on: if something else is there, it is `revision_conflict`, with that as `current`. */
  upsert(input: Upsert, options: Options = {}): Promise<Held> {
    return this.connection.data("POST", `${this.path}/upsert`, { body: input, signal: options.signal });
  }

  /** `upsert` of 1 to 100 records. */
  async upsertAll(inputs: Upsert[], options: Options = {}): Promise<Batch<Held>> {
    const call = { body: { inputs }, signal: options.signal };
    return batchOf((await this.connection.send<BatchAnswer>("POST", `${this.path}/upsert/batch`, call)).body, (d) => d as Held);
  }

  /** Removes a record and what was written about it. There may be none. */
  async delete(id: string, options: Options = {}): Promise<void> {
    await this.connection.send("DELETE", this.path + segment(id), { signal: options.signal });
  }

  /** `delete` of 1 to 100 records. What is not as `expected`, by id, stays: `revision_conflict`. */
  async deleteAll(
    ids: string[],
    options: Options & { expected?: Record<string, Schemas["WorkspaceAccountExpectation"]> } = {},
  ): Promise<Batch<undefined>> {
    const call = { body: { ids, expected: options.expected }, signal: options.signal };
    return batchOf((await this.connection.send<BatchAnswer>("POST", `${this.path}/delete/batch`, call)).body, () => undefined);
  }

  /** Who changed what the workspace says of a record and its places in Static Views, the newest first: names of fields, no values. */
  history(id: string, options: Options = {}): AsyncGenerator<Schemas["WorkspaceChange"], void, undefined> {
    return walk(this.connection, "GET", `${this.path}${segment(id)}/history`, "changes", {}, options);
  }
}

/** Named choices of records: Dynamic Views by a definition, Static ones by what was put into them. */
export class Views {
  constructor(private readonly connection: Connection) {}

  /** Views by name. If the list changes meanwhile, one can repeat or be skipped. */
  list(
    params: { query?: string; dataset?: string; view_type?: string; record_id?: string; favorite_only?: boolean } = {},
    options: Options = {},
  ) {
    return walk<Schemas["View"]>(this.connection, "GET", "/workspace/views", "views", params, options);
  }

  /** Throws APIError `view_not_found`. */
  async get(id: string, options: Options = {}): Promise<Schemas["View"]> {
    const call = { signal: options.signal };
    return (await this.connection.data<Schemas["ViewData"]>("GET", `/workspace/views${segment(id)}`, call)).view;
  }

  /** Creates a View, or with an id changes what is given. */
  async upsert(view: Schemas["ViewUpsert"], options: Options = {}): Promise<Schemas["View"]> {
    const call = { body: view, signal: options.signal };
    return (await this.connection.data<Schemas["ViewData"]>("POST", "/workspace/views/upsert", call)).view;
  }

  /** `upsert` of 1 to 100 Views. */
  async upsertAll(inputs: Schemas["ViewUpsert"][], options: Options = {}): Promise<Batch<Schemas["View"]>> {
    const call = { body: { inputs }, signal: options.signal };
    return batchOf(
      (await this.connection.send<BatchAnswer>("POST", "/workspace/views/upsert/batch", call)).body,
      (d) => (d as Schemas["ViewData"]).view,
    );
  }

  /** `delete` of 1 to 100 Views. */
  async deleteAll(ids: string[], options: Options = {}): Promise<Batch<undefined>> {
    const call = { body: { ids }, signal: options.signal };
    return batchOf((await this.connection.send<BatchAnswer>("POST", "/workspace/views/delete/batch", call)).body, () => undefined);
  }

  /** Deletes a View for all users. */
  async delete(id: string, options: Options = {}): Promise<void> {
    await this.connection.send("DELETE", `/workspace/views${segment(id)}`, { signal: options.signal });
  }

  /** Puts 1 to 100 records into a Static View. */
  async add(id: string, records: string[], options: Options = {}): Promise<Batch<undefined>> {
    const call = { body: { inputs: records.map((record_id) => ({ record_id })) }, signal: options.signal };
    return batchOf(
      (await this.connection.send<BatchAnswer>("POST", `/workspace/views${segment(id)}/records/add/batch`, call)).body,
      () => undefined,
    );
  }

  /** Takes 1 to 100 records out of a Static View. */
  async remove(id: string, ids: string[], options: Options = {}): Promise<Batch<undefined>> {
    const call = { body: { ids }, signal: options.signal };
    return batchOf(
      (await this.connection.send<BatchAnswer>("POST", `/workspace/views${segment(id)}/records/delete/batch`, call)).body,
      () => undefined,
    );
  }

  /** The records of a View of accounts. */
  accounts(id: string) {
    return new Source<Schemas["ViewAccountRow"], Schemas["ViewAccountSearchRequest"], Schemas["ViewAccountFacetRequest"]>(
      this.connection,
      this.records(id),
    );
  }

  /** The records of a View of contacts. */
  contacts(id: string) {
    return new Source<Schemas["ViewContactRow"], Schemas["ViewContactSearchRequest"], Schemas["ViewContactFacetRequest"]>(
      this.connection,
      this.records(id),
    );
  }

  /** The records of a View of projects. */
  projects(id: string) {
    return new Source<Schemas["ViewProjectRow"], Schemas["ViewProjectSearchRequest"], Schemas["ViewProjectFacetRequest"]>(
      this.connection,
      this.records(id),
    );
  }

  private records(id: string) {
    return `/workspace/views${segment(id)}/records`;
  }
}

/** What a client needs. */
export interface AtlasOptions {
  /** Ends in /api/v1. */
  baseUrl: string;
  /** Either an API key, or a token that is called for each attempt and may renew a user's access token. */
  apiKey?: string;
  token?: () => string | Promise<string>;
  workspace?: string;
  retry?: Retry;
  /** Seconds that bound each attempt; 70 by default, longer than the longest search of a service. */
  timeout?: number;
  fetch?: typeof globalThis.fetch;
  /** Receives each attempt. */
  observe?: (attempt: Attempt) => void;
}

/** One service, as one principal. */
export class Atlas {
  readonly accounts;
  readonly contacts;
  readonly projects;
  readonly signals;
  readonly joins;
  readonly book;
  readonly views: Views;
  readonly favorites: Favorites;
  readonly alerts: Alerts;
  readonly members: Members;
  readonly invitations: Invitations;
  readonly subscriptions: Subscriptions;
  readonly queue: Queue;
  readonly webhooks: Webhooks;
  readonly apiKeys: ApiKeys;
  readonly identity: Identity;
  readonly provisioning: Provisioning;
  readonly audit: Audit;
  readonly boards: Boards;
  readonly skills: Skills;
  private readonly connection: Connection;

  constructor(
    private readonly options: AtlasOptions,
    key?: string,
  ) {
    const { apiKey, token } = options;
    const baseUrl = options.baseUrl.replace(/\/+$/, "");
    const address = new URL(baseUrl);
    if (!/^https?:$/.test(address.protocol)) throw new AtlasError(`${baseUrl} is not the address of a service`);
    if (!address.pathname.endsWith("/api/v1")) throw new AtlasError(`the base URL ${baseUrl} must end in /api/v1`);
    if ((apiKey === undefined) === (token === undefined)) throw new AtlasError("give either apiKey or token");
    const c = new Connection({
      baseUrl,
      token: token ?? (() => apiKey ?? ""),
      workspace: options.workspace,
      retry: options.retry ?? {},
      timeout: options.timeout ?? 70,
      fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
      observe: options.observe,
      key,
    });
    this.connection = c;
    this.accounts = new Matchable<
      Schemas["AccountWithRelated"],
      Schemas["AccountSearchRequest"],
      Schemas["AccountFacetRequest"],
      Schemas["AccountChangesRequest"],
      Schemas["AccountSuggestRequest"],
      Schemas["AccountMatchRequest"],
      Schemas["AccountMatchResult"]
    >(c, "/data/accounts");
    this.contacts = new Matchable<
      Schemas["ContactWithRelated"],
      Schemas["ContactSearchRequest"],
      Schemas["ContactFacetRequest"],
      Schemas["ContactChangesRequest"],
      Schemas["ContactSuggestRequest"],
      Schemas["ContactMatchRequest"],
      Schemas["ContactMatchResult"]
    >(c, "/data/contacts");
    this.projects = new Dataset<
      Schemas["ProjectWithRelated"],
      Schemas["ProjectSearchRequest"],
      Schemas["ProjectFacetRequest"],
      Schemas["ProjectChangesRequest"],
      Schemas["ProjectSuggestRequest"]
    >(c, "/data/projects");
    this.signals = new Dataset<
      Schemas["SignalWithRelated"],
      Schemas["SignalSearchRequest"],
      Schemas["SignalFacetRequest"],
      Schemas["SignalChangesRequest"],
      Schemas["SignalSuggestRequest"]
    >(c, "/data/signals");
    this.joins = new Joins<Schemas["AccountJoinRow"], Schemas["AccountJoinRequest"]>(c, "/data/accounts");
    this.book = {
      joins: new Joins<Schemas["WorkspaceAccountJoinRow"], Schemas["WorkspaceAccountJoinRequest"]>(c, "/workspace/accounts"),
      accounts: new Book<
        Schemas["WorkspaceAccountRow"],
        Schemas["WorkspaceAccountSearchRequest"],
        Schemas["WorkspaceAccountFacetRequest"],
        Schemas["WorkspaceAccount"],
        Schemas["WorkspaceAccountUpsert"]
      >(c, "/workspace/accounts"),
      contacts: new Book<
        Schemas["WorkspaceContactRow"],
        Schemas["WorkspaceContactSearchRequest"],
        Schemas["WorkspaceContactFacetRequest"],
        Schemas["WorkspaceContact"],
        Schemas["WorkspaceContactUpsert"]
      >(c, "/workspace/contacts"),
      projects: new Book<
        Schemas["WorkspaceProjectRow"],
        Schemas["WorkspaceProjectSearchRequest"],
        Schemas["WorkspaceProjectFacetRequest"],
        Schemas["WorkspaceProject"],
        Schemas["WorkspaceProjectUpsert"]
      >(c, "/workspace/projects"),
    };
    this.views = new Views(c);
    this.favorites = new Favorites(c);
    this.alerts = new Alerts(c);
    this.members = new Members(c);
    this.invitations = new Invitations(c);
    this.subscriptions = new Subscriptions(c);
    this.queue = new Queue(c);
    this.webhooks = new Webhooks(c);
    this.apiKeys = new ApiKeys(c);
    this.identity = new Identity(c);
    this.provisioning = new Provisioning(c);
    this.audit = new Audit(c);
    this.boards = new Boards(c);
    this.skills = new Skills(c);
  }

  /** This client for another workspace. */
  within(workspace: string): Atlas {
    return new Atlas({ ...this.options, workspace });
  }

  /**
   * This client for one call that has this Idempotency-Key, 1 to 200 printable ASCII characters. A program that
   * stores the key before the call can repeat it within 24 hours, also after a restart, and gets the stored
   * answer. Further requests, such as those of `pages`, have the key and their number. With the key of another call
   * of the same operation a call throws APIError `idempotency_conflict`.
   */
  withIdempotencyKey(key: string): Atlas {
    return new Atlas(this.options, key);
  }

  /**
   * 1 to 50 searches in one call, for the price of the single ones. Their `limit` is 20 by default, and together at
   * most 1,000. Those that fail with `unavailable` can be retried.
   */
  searchBatch(searches: Schemas["SearchDataBatchItem"][], options: Options = {}): Promise<Batch<Page<Record<string, unknown>>>> {
    return searchBatch(this.connection, "/data/search/batch", searches, options);
  }

  /** `searchBatch` for the book, with `dataset`, and for Views, with `view_id`. */
  searchWorkspaceBatch(
    searches: Schemas["SearchWorkspaceBatchItem"][],
    options: Options = {},
  ): Promise<Batch<Page<Record<string, unknown>>>> {
    return searchBatch(this.connection, "/workspace/search/batch", searches, options);
  }

  /** The workspace of the client. */
  workspace(options: Options = {}): Promise<Schemas["GetWorkspaceData"]> {
    return this.read("/workspace", options);
  }

  /** The used and the remaining credits of the workspace. It is free and never throttled. */
  credits(options: Options = {}): Promise<Schemas["GetCreditsData"]> {
    return this.read("/workspace/credits", options);
  }

  /** The credits by operation. */
  usage(options: Options = {}): Promise<Schemas["GetUsageData"]> {
    return this.read("/data/usage", options);
  }

  /** The state of the global dataset. */
  release(options: Options = {}): Promise<Schemas["Release"]> {
    return this.read("/data/release", options);
  }

  /** What can be filtered by. */
  fields(request: Schemas["SearchFieldsRequest"] = {}, options: Options = {}): Promise<Schemas["Descriptor"][]> {
    return this.connection.data("POST", "/data/fields/search", { body: request, signal: options.signal });
  }

  /** One field. Throws APIError `not_found`. */
  field(dataset: Schemas["DescriptorDataset"], key: string, options: Options = {}): Promise<Schemas["Descriptor"]> {
    return this.read(`/data/fields${segment(dataset)}${segment(key)}`, options);
  }

  /** Of which records each field is known, for the most frequent values of an enum. It is free. */
  async coverage(request: Schemas["CoverageRequest"], options: Options = {}): Promise<Schemas["CoverageValue"][]> {
    const call = { body: request, signal: options.signal };
    return (await this.connection.data<Schemas["GetCoverageData"]>("POST", "/data/coverage", call)).values;
  }

  /** What changed in the workspace, in the form that `Dataset.changes` has for records. It is free, for owners, admins and keys that may write. */
  async changes(request: Schemas["WorkspaceChangesRequest"], options: Options = {}): Promise<WorkspaceChanges> {
    const call = { body: request, signal: options.signal };
    const { body } = await this.connection.send<{ data: Schemas["WorkspaceChange"][]; metadata: Schemas["ChangesMetadata"] }>(
      "POST",
      "/workspace/changes",
      call,
    );
    const { next, caught_up, lag_s } = body.metadata;
    return { changes: body.data, next, caughtUp: caught_up, lagSeconds: lag_s };
  }

  /** Pages of changes of the workspace from a cursor on, without end, as `Dataset.follow`. */
  follow(cursor: string, request: { wait_s?: number } = {}, options: Options = {}): AsyncGenerator<WorkspaceChanges, void, undefined> {
    return followed(cursor, (at) => this.changes({ wait_s: 15, ...request, cursor: at }, options));
  }

  private read<T>(path: string, options: Options): Promise<T> {
    return this.connection.data("GET", path, { signal: options.signal });
  }
}
