import { APIError, AtlasError, ConnectionLost, errorOf } from "./errors.js";

/**
 * How failed requests are repeated.
 *
 * All attempts of a call have the same Idempotency-Key: an attempt whose response was lost is neither
 * executed nor charged twice. The response to a repetition has no secrets. A request is repeated after a lost connection, 502, 503
 * and 504, 429 with a short wait, and while the first attempt is still running. Only the
 * acceptance of an invitation is not repeated when its response was lost.
 */
export interface Retry {
  /** The maximum number of attempts, without a limit by default; 1: no retry. */
  attempts?: number;
  /**
   * Seconds before the second attempt, 0.25 by default. The wait doubles; half of it is random. No wait is shorter
   * than the service asks for.
   */
  first?: number;
  /** Seconds of the longest wait, 10 by default. If the service asks for more, the error is thrown at once. */
  longest?: number;
  /** Seconds from the first failure to the start of the last attempt: 15, or no limit when `attempts` is set. */
  within?: number;
}

/** Seconds: a failover of Redis or Postgres takes less. */
const defaultWithin = 15;

/** The outcome of one attempt, for an observer. */
export interface Attempt {
  method: string;
  path: string;
  attempt: number;
  /** 0 without a response. */
  status: number;
  seconds: number;
  error?: AtlasError;
}

export interface Settings {
  /** Ends in /api/v1. */
  baseUrl: string;
  /** Called for each attempt; may renew a user's access token. */
  token: () => string | Promise<string>;
  /** The workspace of all requests; a key has a default one. */
  workspace?: string | undefined;
  retry: Retry;
  /** Seconds that bound each attempt. */
  timeout: number;
  fetch: typeof globalThis.fetch;
  observe?: ((attempt: Attempt) => void) | undefined;
  /** The Idempotency-Key of the first call; those after it have a number too. */
  key?: string | undefined;
}

export interface Call {
  body?: unknown;
  params?: Record<string, string | number | boolean | undefined>;
  /** The service does not store the answer: the request is not repeated where it may have had an effect. */
  notStored?: boolean;
  /** The call does not count among those with a key of one's own. */
  randomKey?: boolean;
  signal?: AbortSignal | undefined;
}

/** A decoded answer with its headers. */
export interface Answer<T> {
  body: T;
  response: Response;
}

/** Sends requests, and repeats those that failed. */
export class Connection {
  private calls = 0;

  constructor(readonly settings: Settings) {}

  private nextKey(): string {
    const { key } = this.settings;
    if (key === undefined) return crypto.randomUUID();
    return ++this.calls === 1 ? key : `${key}.${this.calls}`;
  }

  /** The first answer with success. */
  async send<T>(method: string, path: string, call: Call = {}): Promise<Answer<T>> {
    const key = call.randomKey ? crypto.randomUUID() : this.nextKey();
    let failed = 0;
    for (let attempt = 1; ; attempt++) {
      const began = performance.now();
      let failure: AtlasError;
      let status = 0;
      try {
        const response = await this.attempt(method, path, call, key);
        status = response.status;
        if (response.ok) {
          const body = await read<T>(method, path, response);
          this.observed({ method, path, attempt, status, seconds: (performance.now() - began) / 1000 });
          return { body, response };
        }
        failure = await errorOf(method, path, response);
      } catch (error) {
        if (!(error instanceof AtlasError)) throw error;
        failure = error;
      }
      this.observed({ method, path, attempt, status, seconds: (performance.now() - began) / 1000, error: failure });
      if (attempt === 1) failed = performance.now();
      const wait = this.wait(attempt, (performance.now() - failed) / 1000, failure, !call.notStored);
      if (wait === undefined) throw failure;
      await pause(wait, call.signal);
    }
  }

  /** `data` of the answer. */
  async data<T>(method: string, path: string, call: Call = {}): Promise<T> {
    return (await this.send<{ data: T }>(method, path, call)).body.data;
  }

  private observed(attempt: Attempt) {
    this.settings.observe?.(attempt);
  }

  private async attempt(method: string, path: string, call: Call, key: string): Promise<Response> {
    const s = this.settings;
    const address = new URL(s.baseUrl + path);
    for (const [name, value] of Object.entries({ ...call.params, workspace_id: s.workspace })) {
      if (value !== undefined) address.searchParams.set(name, String(value));
    }
    const headers: Record<string, string> = { Authorization: `Bearer ${await s.token()}`, Accept: "application/json" };
    if (!call.notStored) headers["Idempotency-Key"] = key;
    const timeout = AbortSignal.timeout(s.timeout * 1000);
    const init: RequestInit = {
      method,
      headers,
      redirect: "manual",
      signal: call.signal ? AbortSignal.any([call.signal, timeout]) : timeout,
    };
    if (call.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(call.body);
    }
    try {
      return await s.fetch(address, init);
    } catch (cause) {
      if (call.signal?.aborted) throw cause;
      throw new ConnectionLost(`${method} ${path}: ${String(cause)}`, { cause });
    }
  }

  /**
   * Seconds to wait after a failed attempt, counted from 1; undefined: do not repeat. passed is in seconds since the
   * first failure.
   */
  private wait(attempt: number, passed: number, failure: AtlasError, repeatable: boolean): number | undefined {
    const { attempts, first = 0.25, longest = 10, within = attempts === undefined ? defaultWithin : Infinity } = this.settings.retry;
    if (attempt >= (attempts ?? Infinity) || passed >= within || !repeats(failure, repeatable)) return undefined;
    // The last wait ends at within, so that all clients outlast an outage that is shorter.
    const wait = Math.min(Math.min(first * 2 ** (attempt - 1), longest) * (0.5 + Math.random() / 2), within - passed);
    const retryAfter = failure instanceof APIError ? failure.retryAfter : undefined;
    if (!retryAfter) return wait;
    const minWait = Math.max(wait, Math.min(retryAfter * (1 + Math.random() / 4), longest, within - passed));
    return retryAfter > Math.min(longest, within - passed) ? undefined : minWait;
  }
}

function repeats(failure: AtlasError, repeatable: boolean): boolean {
  if (failure instanceof APIError) {
    if (failure.status === 429 || failure.code === "idempotency_in_progress") return Boolean(failure.retryAfter);
    return repeatable && [502, 503, 504].includes(failure.status);
  }
  return repeatable && failure instanceof ConnectionLost;
}

async function read<T>(method: string, path: string, response: Response): Promise<T> {
  let text: string;
  try {
    text = await response.text();
  } catch (cause) {
    throw new ConnectionLost(`${method} ${path}: ${String(cause)}`, { cause });
  }
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new AtlasError(`the answer to ${method} ${path} cannot be read`, { cause });
  }
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", ended, { once: true });
  });
}
