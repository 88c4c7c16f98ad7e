import type { Connection } from "./connection.js";
import { batchOf, MAX_PAGE, Searchable, type Batch, type BatchAnswer, type Options, type Schemas } from "./source.js";

/** One element of a path. */
export const segment = (text: string) => `/${encodeURIComponent(text)}`;

/** The elements of a list with offset paging. If it changes meanwhile, one can repeat or be skipped. */
export async function* walk<T>(
  c: Connection,
  method: "GET" | "POST",
  path: string,
  name: string,
  request: Record<string, string | boolean | undefined>,
  { signal }: Options,
): AsyncGenerator<T, void, undefined> {
  for (let offset = 0; ;) {
    const page = { ...request, limit: MAX_PAGE, offset };
    const call = { ...(method === "GET" ? { params: page } : { body: page }), signal };
    const { body } = await c.send<{ data: Record<string, T[]>; metadata: { limit: number } }>(method, path, call);
    const elements = body.data[name] ?? [];
    yield* elements;
    offset += elements.length;
    if (elements.length === 0 || elements.length < body.metadata.limit) return;
  }
}

/** Things of a workspace under one path, named `one` and `many` in answers. */
class Resource<T> {
  constructor(
    protected readonly connection: Connection,
    protected readonly path: string,
    private readonly one: string,
    private readonly many: string,
  ) {}

  /** All of them, page by page. */
  list(options: Options = {}): AsyncGenerator<T, void, undefined> {
    return walk<T>(this.connection, "GET", this.path, this.many, {}, options);
  }

  protected async put(path: string, body: object | undefined, { signal }: Options, { method = "POST" } = {}): Promise<T> {
    const data = await this.connection.data<Record<string, T>>(method, this.path + path, { body, signal });
    return data[this.one] as T;
  }

  protected async batch<D>(path: string, body: object, { signal }: Options, read: (data: unknown) => D): Promise<Batch<D>> {
    return batchOf((await this.connection.send<BatchAnswer>("POST", this.path + path, { body, signal })).body, read);
  }

  protected drop<D>(id: string, { signal }: Options): Promise<D> {
    return this.connection.data("DELETE", this.path + segment(id), { signal });
  }
}

const nothing = () => undefined;

/** The user's ordered pointers to Views. An API key has none: APIError `user_identity_required`. */
export class Favorites extends Resource<Schemas["View"]> {
  constructor(c: Connection) {
    super(c, "/workspace/favorite-views", "view", "views");
  }

  /** Makes a View a Favorite, or moves it. */
  upsert(favorite: Schemas["FavoriteViewUpsert"], options: Options = {}): Promise<Schemas["View"]> {
    return this.put("/upsert", favorite, options);
  }

  /** `upsert` of 1 to 100 Views, together. */
  upsertAll(inputs: Schemas["FavoriteViewUpsert"][], options: Options = {}): Promise<Batch<Schemas["View"]>> {
    return this.batch("/upsert/batch", { inputs }, options, (data) => (data as Schemas["ViewData"]).view);
  }

  /** Removes a Favorite, not the View. There may be none. */
  async delete(viewId: string, options: Options = {}): Promise<void> {
    await this.drop(viewId, options);
  }

  /** `delete` of 1 to 100 Favorites. */
  deleteAll(ids: string[], options: Options = {}): Promise<Batch<undefined>> {
    return this.batch("/delete/batch", { ids }, options, nothing);
  }
}

/** The user's alerts on Dynamic Views. An API key has none: APIError `user_identity_required`. */
export class Alerts extends Resource<Schemas["Alert"]> {
  constructor(c: Connection) {
    super(c, "/workspace/alerts", "alert", "alerts");
  }

  /** What the alerts found, the latest first, of one View or of all. */
  entries(viewId?: string, options: Options = {}): AsyncGenerator<Schemas["AlertEntry"], void, undefined> {
    return walk<Schemas["AlertEntry"]>(this.connection, "GET", this.path + "/entries", "entries", { view_id: viewId }, options);
  }

  /** Switches an alert on a View on. What matches now is known. */
  upsert(viewId: string, options: Options = {}): Promise<Schemas["Alert"]> {
    return this.put("/upsert", { view_id: viewId }, options);
  }

  /** Sets how often one is mailed what an alert finds, null for not at all. Switches the alert on. */
  mail(viewId: string, frequency: Schemas["Alert"]["email"], options: Options = {}): Promise<Schemas["Alert"]> {
    return this.put("/upsert", { view_id: viewId, email: frequency }, options);
  }

  /** Switches an alert off. There may be none. */
  async delete(viewId: string, options: Options = {}): Promise<void> {
    await this.drop(viewId, options);
  }

  /** Notes that the user looked at the entries of a View, up to a number or all. */
  async see(viewId: string, { through, signal }: Options & { through?: number } = {}): Promise<Schemas["Alert"]> {
    const body = through === undefined ? {} : { through };
    const { alert } = await this.connection.data<Schemas["AlertData"]>("POST", `/workspace/views${segment(viewId)}/seen`, { body, signal });
    return alert;
  }
}

/** The users in the workspace. */
export class Members extends Resource<Schemas["Member"]> {
  constructor(c: Connection) {
    super(c, "/workspace/members", "member", "members");
  }

  /** Changes the role of a member. */
  setRole(userId: string, role: Schemas["Role"], options: Options = {}): Promise<Schemas["Member"]> {
    return this.put(segment(userId), { role }, options, { method: "PATCH" });
  }

  /** Removes a member; false when there was none. */
  async remove(userId: string, options: Options = {}): Promise<boolean> {
    return (await this.drop<Schemas["RemoveMemberData"]>(userId, options)).deleted;
  }

  /** Ends all sessions of a member in the workspace, within 5 s. They may sign in again; access tokens and API keys stay valid. Throws APIError `not_found`. */
  async signOut(userId: string, { signal }: Options = {}): Promise<void> {
    await this.connection.data("POST", `${this.path}${segment(userId)}/sign-out`, { signal });
  }
}

/** The open invitations, the newest first. */
export class Invitations extends Resource<Schemas["Invitation"]> {
  constructor(c: Connection) {
    super(c, "/workspace/invitations", "invitation", "invitations");
  }

  /** Invites an address. No other answer has the `accept_url`. `replace` revokes a pending invitation of the address in the same step. */
  create(invitation: Schemas["CreateInvitationRequest"], { signal }: Options = {}): Promise<Schemas["CreateInvitationData"]> {
    return this.connection.data("POST", this.path, { body: invitation, signal });
  }

  /** Ends an open invitation, or throws APIError `not_found`. */
  async revoke(id: string, options: Options = {}): Promise<void> {
    await this.drop(id, options);
  }

  /** What accepting would do, with the same errors. It changes nothing. */
  preview(token: string, { signal }: Options = {}): Promise<Schemas["InvitationPreview"]> {
    return this.connection.data("POST", `${this.path}/preview`, { body: { token }, signal });
  }

  /** Adds the user of the access token to the workspace; `token` is the parameter of the link. */
  accept(token: string, { signal }: Options = {}): Promise<Schemas["AcceptInvitationData"]> {
    return this.connection.data("POST", `${this.path}/accept`, { body: { token }, notStored: true, signal });
  }
}

/** The types of signals that the workspace follows. */
export class Subscriptions extends Resource<Schemas["SignalSubscription"]> {
  constructor(c: Connection) {
    super(c, "/workspace/signal-subscriptions", "subscription", "subscriptions");
  }

  /** Subscribes, or changes the delivery. */
  upsert(subscription: Schemas["SignalSubscriptionUpsert"], options: Options = {}): Promise<Schemas["SignalSubscription"]> {
    return this.put("/upsert", subscription, options);
  }

  /** Ends a subscription. There may be none. */
  async delete(id: string, options: Options = {}): Promise<void> {
    await this.drop(id, options);
  }
}

/**
 * The signals of the subscribed types that arrived since. A search also takes `in_book` and `dismissed`: the newest
 * arrival comes first. `unread` of a page counts the whole queue.
 */
export class Queue extends Searchable<Schemas["Signal"], Schemas["SignalQueueSearchRequest"]> {
  constructor(c: Connection) {
    super(c, "/workspace/signal-queue");
  }

  /** Dismisses 1 to 100 signals for the whole workspace. */
  dismiss(ids: string[], options: Options = {}): Promise<Batch<undefined>> {
    return this.batch("dismiss", ids, options);
  }

  /** Takes 1 to 100 dismissed signals back. */
  restore(ids: string[], options: Options = {}): Promise<Batch<undefined>> {
    return this.batch("restore", ids, options);
  }

  private async batch(what: string, ids: string[], { signal }: Options): Promise<Batch<undefined>> {
    return batchOf(
      (await this.connection.send<BatchAnswer>("POST", `${this.path}/${what}/batch`, { body: { ids }, signal })).body,
      nothing,
    );
  }
}

/** The keys of the workspace, for owners, admins and keys with `workspace:admin`. */
export class ApiKeys extends Resource<Schemas["ApiKey"]> {
  constructor(c: Connection) {
    super(c, "/workspace/api-keys", "api_key", "api_keys");
  }

  /** Makes a key, whose `secret` only this answer has. */
  create(key: Schemas["ApiKeyCreate"], options: Options = {}): Promise<Schemas["ApiKey"]> {
    return this.put("", key, options);
  }

  /** Gives a key a new `secret`. The one before is good too for 24 hours, or `old_secret_hours`. */
  rotate(id: string, rotation: Partial<Schemas["ApiKeyRotation"]> = {}, options: Options = {}): Promise<Schemas["ApiKey"]> {
    return this.put(`${segment(id)}/rotate`, rotation, options);
  }

  /** Ends a key, with those that it made. Throws APIError `not_found`. */
  async revoke(id: string, options: Options = {}): Promise<void> {
    await this.drop(id, options);
  }

  /** What a key changed, the latest first, for users who are owners or admins. */
  actions(id: string, { signal }: Options = {}): AsyncGenerator<Schemas["ApiKeyAction"], void, undefined> {
    return cursored(this.connection, `${this.path}${segment(id)}/actions`, "actions", {}, signal);
  }

  /**
   * Takes back what a revoked key did, where nobody else has changed it since; `next` is the cursor of what is left. Throws APIError
   * `api_key_active` for a key that is not revoked.
   */
  async undo(
    id: string,
    undo: Partial<Schemas["ApiKeyUndo"]> = {},
    { signal }: Options = {},
  ): Promise<{ actions: Schemas["ApiKeyActionOutcome"][]; next: string | null }> {
    const { body } = await this.connection.send<{
      data: { actions: Schemas["ApiKeyActionOutcome"][] };
      metadata: Schemas["ApiKeyActionsMetadata"];
    }>("POST", `${this.path}${segment(id)}/undo`, { body: undo, signal });
    return { actions: body.data.actions, next: body.metadata.next };
  }

  /** What the workspace permits of new and rotated keys. */
  async policy({ signal }: Options = {}): Promise<Schemas["ApiKeyPolicy"]> {
    const data = await this.connection.data<Schemas["ApiKeyPolicyData"]>("GET", `${this.path}/policy`, { signal });
    return data.policy;
  }

  /** Replaces the policy, for users who are owners or admins. What is omitted is not limited. */
  async setPolicy(policy: Partial<Schemas["ApiKeyPolicySet"]>, { signal }: Options = {}): Promise<Schemas["ApiKeyPolicy"]> {
    const data = await this.connection.data<Schemas["ApiKeyPolicyData"]>("POST", `${this.path}/policy`, { body: policy, signal });
    return data.policy;
  }
}

/** How people of the workspace sign in, for users who are owners or admins; only owners set and delete the provider. */
export class Identity {
  constructor(private readonly connection: Connection) {}

  private readonly path = "/workspace/identity";

  /** The OpenID provider, null for none, and the address that it is to permit. */
  provider({ signal }: Options = {}): Promise<Schemas["IdentityProviderData"]> {
    return this.connection.data("GET", `${this.path}/provider`, { signal });
  }

  /** Puts a provider in place. `required` only in a session of the provider. */
  async setProvider(provider: Schemas["IdentityProviderSet"], { signal }: Options = {}): Promise<Schemas["IdentityProvider"] | null> {
    const data = await this.connection.data<Schemas["IdentityProviderData"]>("POST", `${this.path}/provider`, { body: provider, signal });
    return data.provider;
  }

  /** Deletes the provider; its sessions end. Throws APIError `not_found`. */
  async deleteProvider({ signal }: Options = {}): Promise<void> {
    await this.connection.data("DELETE", `${this.path}/provider`, { signal });
  }

  /** The domains of e-mail addresses, by name. */
  async domains({ signal }: Options = {}): Promise<Schemas["IdentityDomain"][]> {
    const data = await this.connection.data<{ domains: Schemas["IdentityDomain"][] }>("GET", `${this.path}/domains`, { signal });
    return data.domains;
  }

  /** Adds a domain, with the DNS text record that proves it. */
  addDomain(domain: string, { signal }: Options = {}): Promise<Schemas["IdentityDomain"]> {
    return this.domain("POST", "", { body: { domain }, signal });
  }

  /** Looks for the record now. Throws APIError `not_found`, `forbidden` if another workspace has proved the domain. */
  checkDomain(domain: string, { signal }: Options = {}): Promise<Schemas["IdentityDomain"]> {
    return this.domain("POST", `${segment(domain)}/check`, { signal });
  }

  /** Deletes a domain; sessions of its addresses end. Throws APIError `not_found`. */
  async deleteDomain(domain: string, { signal }: Options = {}): Promise<void> {
    await this.connection.data("DELETE", `${this.path}/domains${segment(domain)}`, { signal });
  }

  private async domain(
    method: "POST",
    path: string,
    options: { body?: unknown; signal?: AbortSignal | undefined },
  ): Promise<Schemas["IdentityDomain"]> {
    const data = await this.connection.data<Schemas["IdentityDomainData"]>(method, `${this.path}/domains${path}`, options);
    return data.domain;
  }
}

/** Tokens that the identity provider of the workspace has for SCIM. */
export class ScimTokens extends Resource<Schemas["ScimToken"]> {
  constructor(c: Connection) {
    super(c, "/workspace/identity/scim/tokens", "token", "tokens");
  }

  /** Makes a token, whose `secret` only this answer has, for a year or `expires_in_days`. */
  create(token: Partial<Schemas["ScimTokenCreate"]> & { name: string }, options: Options = {}): Promise<Schemas["ScimToken"]> {
    return this.put("", token, options);
  }

  /** Ends a token. Throws APIError `not_found`. */
  async revoke(id: string, options: Options = {}): Promise<void> {
    await this.drop(id, options);
  }
}

/** The people whom the identity provider has, by their user names. */
export class ProvisionedPeople extends Resource<Schemas["ProvisionedPerson"]> {
  constructor(c: Connection) {
    super(c, "/workspace/identity/scim/people", "person", "people");
  }
}

/** The groups of the identity provider, by name. */
export class ProvisionedGroups extends Resource<Schemas["ProvisionedGroup"]> {
  constructor(c: Connection) {
    super(c, "/workspace/identity/scim/groups", "group", "groups");
  }

  /** Says what members of a group are in the workspace; `none` for nothing. Throws APIError `not_found`. */
  setRole(id: string, role: Schemas["GroupRoleSet"]["role"], options: Options = {}): Promise<Schemas["ProvisionedGroup"]> {
    return this.put(segment(id), { role }, options);
  }
}

/** The settings of SCIM, for users who are owners or admins. */
export class Provisioning {
  readonly tokens: ScimTokens;
  readonly people: ProvisionedPeople;
  readonly groups: ProvisionedGroups;

  constructor(c: Connection) {
    this.tokens = new ScimTokens(c);
    this.people = new ProvisionedPeople(c);
    this.groups = new ProvisionedGroups(c);
  }
}

/** The elements of a list whose answers have the cursor of the next page. */
async function* cursored<T>(
  c: Connection,
  path: string,
  name: string,
  query: Record<string, unknown>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for (let cursor: string | undefined; ;) {
    const params = { ...query, limit: 2 * MAX_PAGE, cursor };
    const { body } = await c.send<{ data: Record<string, T[]>; metadata: { next: string | null } }>("GET", path, { params, signal });
    const elements = body.data[name] ?? [];
    yield* elements;
    if (body.metadata.next === null || elements.length === 0) return;
    cursor = body.metadata.next;
  }
}

/** Which events of the audit log one asks for. */
export interface AuditQuery {
  /** One, such as `api_key.created`, or a kind of object, such as `api_key`. */
  action?: string;
  principal_id?: string;
  object_id?: string;
  since?: Date;
  until?: Date;
  /** `oldest`: in the order of the chain. */
  order?: "newest" | "oldest";
}

const span = ({ since, until }: { since?: Date; until?: Date }) => ({ since: since?.toISOString(), until: until?.toISOString() });

/** The audit log of the workspace, for owners, admins and keys with `workspace:admin`. */
export class Audit {
  constructor(private readonly connection: Connection) {}

  /** The events that there are, the newest first unless `order` says otherwise. */
  async *events(query: AuditQuery = {}, { signal }: Options = {}): AsyncGenerator<Schemas["AuditEvent"], void, undefined> {
    yield* cursored<Schemas["AuditEvent"]>(this.connection, "/workspace/audit", "events", { ...query, ...span(query) }, signal);
  }

  /** How many records whom was given, by operation and hour, the latest first. */
  delivered(
    query: Omit<AuditQuery, "action" | "object_id" | "order"> = {},
    options: Options = {},
  ): AsyncGenerator<Schemas["RecordsDelivered"], void, undefined> {
    return walk(
      this.connection,
      "GET",
      "/workspace/audit/records",
      "delivered",
      { principal_id: query.principal_id, ...span(query) },
      options,
    );
  }
}

/** Pages of charts, pivots, maps and Views that the workspace shares. */
export class Boards extends Resource<Schemas["Board"]> {
  constructor(c: Connection) {
    super(c, "/workspace/boards", "board", "boards");
  }

  /** One of them. Throws APIError `not_found`. */
  async get(id: string, { signal }: Options = {}): Promise<Schemas["Board"]> {
    return (await this.connection.data<Schemas["BoardData"]>("GET", this.path + segment(id), { signal })).board;
  }

  /** Creates a board, or with an `id` changes one. */
  upsert(board: Schemas["BoardUpsert"], options: Options = {}): Promise<Schemas["Board"]> {
    return this.put("/upsert", board, options);
  }

  /** Deletes a board for everybody. Throws APIError `not_found`. */
  async delete(id: string, options: Options = {}): Promise<void> {
    await this.drop(id, options);
  }
}

/** The addresses that receive events, for owners, admins and API keys. */
export class Webhooks extends Resource<Schemas["Webhook"]> {
  constructor(c: Connection) {
    super(c, "/workspace/webhooks", "webhook", "webhooks");
  }

  /** Creates a webhook, whose `secret` only this answer has, or with an id changes and enables one. */
  upsert(webhook: Schemas["WebhookUpsert"], options: Options = {}): Promise<Schemas["Webhook"]> {
    return this.put("/upsert", webhook, options);
  }

  /** Throws APIError `not_found`. */
  async delete(id: string, options: Options = {}): Promise<void> {
    await this.drop(id, options);
  }

  /** Gives a webhook a new secret. The one before signs too for 24 hours. */
  rotate(id: string, options: Options = {}): Promise<Schemas["Webhook"]> {
    return this.put(`${segment(id)}/rotate`, undefined, options);
  }

  /** Sends the event `webhook.test`. */
  test(id: string, options: Options = {}): Promise<Schemas["WebhookDelivery"]> {
    return this.delivery(`${segment(id)}/test`, options);
  }

  /** The log of a webhook, the newest first. */
  deliveries(id: string, options: Options = {}): AsyncGenerator<Schemas["WebhookDelivery"], void, undefined> {
    return walk(this.connection, "GET", `${this.path}${segment(id)}/deliveries`, "deliveries", {}, options);
  }

  /** Replays a delivery, with the same webhook-id. */
  replay(id: string, deliveryId: string, options: Options = {}): Promise<Schemas["WebhookDelivery"]> {
    return this.delivery(`${segment(id)}/deliveries${segment(deliveryId)}/replay`, options);
  }

  /** Replays the deliveries created from a time to before another; returns how many. */
  async replayBetween(id: string, from: Date, to: Date, { signal }: Options = {}): Promise<number> {
    let replayed = 0;
    for (let since = from.toISOString(); ;) {
      const call = { body: { from: since, to: to.toISOString() }, signal };
      const data = await this.connection.data<Schemas["ReplayWebhookData"]>("POST", `${this.path}${segment(id)}/replay`, call);
      replayed += data.replayed;
      if (!data.next) return replayed;
      since = data.next;
    }
  }

  private async delivery(path: string, { signal }: Options): Promise<Schemas["WebhookDelivery"]> {
    return (await this.connection.data<Schemas["TestWebhookData"]>("POST", this.path + path, { signal })).delivery;
  }
}

/** Bundles of instructions, personal or the workspace's. */
export class Skills {
  constructor(private readonly connection: Connection) {}

  /** Published Skills, of words of their name or description. */
  find(
    request: { query?: string; scope?: Schemas["Skill"]["scope"] } = {},
    options: Options = {},
  ): AsyncGenerator<Schemas["ListedSkill"], void, undefined> {
    return walk(this.connection, "POST", "/workspace/skills/find", "skills", request, options);
  }

  /** All Skills that the caller may see, drafts included. */
  list(
    request: { scope?: Schemas["Skill"]["scope"]; status?: Schemas["Skill"]["status"] } = {},
    options: Options = {},
  ): AsyncGenerator<Schemas["ListedSkill"], void, undefined> {
    return walk(this.connection, "POST", "/workspace/skills/list", "skills", request, options);
  }

  /** A Skill with its content. Throws APIError `skill_not_found`. */
  get(locator: string, options: Options = {}): Promise<Schemas["Skill"]> {
    return this.one("get", { locator }, options);
  }

  /** Creates a draft. */
  create(skill: Schemas["SkillCreate"], options: Options = {}): Promise<Schemas["Skill"]> {
    return this.one("create", skill, options);
  }

  private async one(what: string, body: object, { signal }: Options): Promise<Schemas["Skill"]> {
    return (await this.connection.data<Schemas["SkillData"]>("POST", `/workspace/skills/${what}`, { body, signal })).skill;
  }
}
