import createClient, { createQuerySerializer, type Middleware } from 'openapi-fetch'
import type { components, paths } from './schema'

export type Schemas = components['schemas']

/** Credits are the credit window of the workspace, from the headers of the last answer. */
export interface Credits {
  used: number
  remaining: number
  ceiling: number
}

/** Issue is an error of a part of a request. */
interface Issue {
  path: string[]
  message: string
}

/** RequestError is a failed response. Status 0: there was no response. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string,
    /** When a retry makes sense. */
    readonly retryAt?: Date,
    /** Of `revision_conflict` of the book: the current values of the record, null if it is not in the book. */
    readonly current?: Schemas['CurrentValues'],
    /** The errors in the request, with their paths. */
    readonly issues: Issue[] = [],
  ) {
    super(message)
  }
}

/** creditListeners receive the credits of each answer that has them, its cost, and its path. */
export const creditListeners = new Set<(credits: Credits, charged: number, path: string) => void>()

/** How far the clock of the service is ahead of this machine's, in milliseconds. */
let ahead = 0

/** serverNow converts a time of this machine to the clock of the service. */
export const serverNow = (at: number) => at + ahead

const credits: Middleware = {
  onRequest({ request }) {
    if (user) request.headers.set('Atlas-User', user)
  },
  onResponse({ response, schemaPath }) {
    const there = Date.parse(response.headers.get('Date') ?? '')
    if (!Number.isNaN(there)) ahead = there - Date.now()
    const number = (name: string) => Number(response.headers.get(name) ?? NaN)
    const window = {
      used: number('X-Credits-Used'),
      remaining: number('X-Credits-Remaining'),
      ceiling: number('X-Credits-Ceiling'),
    }
    if (!Number.isNaN(window.ceiling)) {
      creditListeners.forEach((hear) => hear(window, number('X-Credits-Charged') || 0, schemaPath))
    }
  },
}

let workspace: string | undefined
let user: string | undefined

/** setRequestWorkspace sets the workspace of all requests that name none. */
export function setRequestWorkspace(id: string): void {
  workspace = id
}

/** setRequestUser sets the user of this page: the service refuses requests when another tab has signed in somebody else. */
export function setRequestUser(id: string): void {
  user = id
}

/** requestUser is the user of this page. */
export const requestUser = () => user

const serialize = createQuerySerializer<Record<string, unknown>>()

export const api = createClient<paths>({
  baseUrl: '/api/v1',
  querySerializer: (query) => serialize({ workspace_id: workspace, ...query }),
})
api.use(credits)

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** answer returns the result of a request, or throws a RequestError. */
export async function answer<T>(request: Promise<Answer<T>>): Promise<T> {
  let got: Answer<T>
  try {
    got = await request
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new RequestError(0, 'offline', 'Atlas does not answer. Is this machine online?', '')
  }
  if (got.response.ok && got.data !== undefined) return got.data
  throw errorOf(got.response, got.error)
}

/** errorOf reads the body of a failed response, in either form of docs/api.md. */
export function errorOf(response: Response, body: unknown): RequestError {
  const detail = (
    body as {
      error?: {
        code?: string
        name?: string
        message?: string
        issues?: Issue[]
        current?: Schemas['CurrentValues']
      }
    }
  )?.error
  const message =
    detail?.message ?? detail?.issues?.map((i) => `${i.path.join('.')}: ${i.message}`).join('; ') ?? response.statusText
  return new RequestError(
    response.status,
    detail?.code ?? detail?.name ?? 'unknown',
    message,
    response.headers.get('X-Request-Id') ?? '',
    retryAt(response.headers),
    detail?.current,
    detail?.issues,
  )
}

function retryAt(headers: Headers): Date | undefined {
  const next = headers.get('X-Credits-Next-At')
  if (next) return new Date(next)
  const seconds = Number(headers.get('Retry-After') ?? NaN)
  return Number.isNaN(seconds) ? undefined : new Date(Date.now() + seconds * 1000)
}
