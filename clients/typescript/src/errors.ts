import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** One problem of a request, with the path to the value. */
export interface Issue {
  code: string;
  path: string[];
  message: string;
  keys?: string[];
}

/** Any failure of a call. */
export class AtlasError extends Error {
  override name = "AtlasError";
}

/** No response. Whether the service received the request is unknown. */
export class ConnectionLost extends AtlasError {
  override name = "ConnectionLost";
}

/** The state of the credits in a metered answer; zeros in others. */
export interface Credits {
  charged: number;
  used: number;
  remaining: number;
  ceiling: number;
}

/** An error response, or the error of an item of a batch. docs/api.md, "Errors", lists the codes. */
export class APIError extends AtlasError {
  override name = "APIError";
  /** "" when the response is not the service's, for instance a proxy's. */
  code = "";
  /** 0 in an item of a batch. */
  status = 0;
  issues: Issue[] = [];
  /** Where the code is explained: a path of the service, or an address. */
  docUrl = "";
  requestId = "";
  /** The record that this one was merged into. */
  mergedInto: string | undefined;
  /** Of `revision_conflict` of the book: what the workspace says of the record, null if it is not in the book. */
  current: Schemas["CurrentValues"] | undefined;
  /** Seconds that the service asks to wait. */
  retryAfter: number | undefined;
  /** Of `rate_limited`: the state of the credits, and when the first of them return. */
  credits: Credits | undefined;
  nextAt: Date | undefined;

  constructor(message: string, values: Partial<APIError> = {}) {
    super(message);
    Object.assign(this, values);
  }
}

interface GivenError {
  code?: string;
  message?: string;
  doc_url?: string;
  issues?: Issue[];
  merged_into?: string;
  current?: Schemas["CurrentValues"];
}

/** The error of an item of a batch. */
export function itemError(given: GivenError): APIError {
  const code = given.code ?? "";
  return new APIError(`${code}: ${given.message ?? ""}`, {
    code,
    docUrl: given.doc_url ?? "",
    mergedInto: given.merged_into,
    current: given.current,
    issues: given.issues ?? [],
  });
}

/** Decodes a response without success. */
export async function errorOf(method: string, path: string, response: Response): Promise<APIError> {
  let given: GivenError = {};
  try {
    const body = (await response.json()) as { error?: GivenError };
    if (typeof body.error === "object" && body.error !== null) given = body.error;
  } catch {
    // The status of an error suffices, whatever happened to its body.
  }
  const issues = given.issues ?? [];
  const code = given.code ?? (issues.length > 0 ? "invalid_input" : "");
  const requestId = response.headers.get("X-Request-Id") ?? "";
  let text = `${method} ${path}: ${response.status} ${code}`.trimEnd();
  const problems = issues.map((issue) => `${issue.path.join(".") || "the body"} ${issue.message}`);
  if (problems.length > 0) text += `: ${problems.join("; ")}`;
  else if (given.message) text += `: ${given.message}`;
  if (response.status >= 500 && requestId) text += ` (request ${requestId})`;
  const error = new APIError(text, {
    code,
    docUrl: given.doc_url ?? "",
    mergedInto: given.merged_into,
    current: given.current,
    issues,
    requestId,
    status: response.status,
    retryAfter: retryAfter(response),
  });
  if (code === "rate_limited") {
    error.credits = creditsOf(response);
    const at = Date.parse(response.headers.get("X-Credits-Next-At") ?? "");
    if (!Number.isNaN(at)) error.nextAt = new Date(at);
  }
  return error;
}

/** The credits of a response. */
export function creditsOf(response: Response): Credits {
  const of = (name: string) => Number(response.headers.get(`X-Credits-${name}`)) || 0;
  return { charged: of("Charged"), used: of("Used"), remaining: of("Remaining"), ceiling: of("Ceiling") };
}

function retryAfter(response: Response): number | undefined {
  const text = response.headers.get("Retry-After");
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
}
