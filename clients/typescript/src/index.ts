export {
  Atlas,
  Book,
  Dataset,
  Matchable,
  Views,
  type AtlasOptions,
  type Change,
  type Changes,
  type Matches,
  type Schemas,
  type Shown,
  type WorkspaceChanges,
} from "./client.js";
export type { Attempt, Retry } from "./connection.js";
export { APIError, AtlasError, ConnectionLost, type Credits, type Issue } from "./errors.js";
export {
  Joins,
  MAX_PAGE,
  Pages,
  Searchable,
  Source,
  type Batch,
  type Item,
  type Options,
  type Page,
  type PivotBy,
  type PivotRequest,
} from "./source.js";
export { readWebhook, WebhookSignatureError, type WebhookEvent } from "./webhooks.js";
export type {
  Alerts,
  ApiKeys,
  Audit,
  AuditQuery,
  Boards,
  Favorites,
  Identity,
  Invitations,
  Members,
  Provisioning,
  Queue,
  Skills,
  Subscriptions,
  Webhooks,
} from "./workspace.js";
