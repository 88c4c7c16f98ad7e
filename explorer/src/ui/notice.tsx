import { RequestError } from '../api/client'
import { capital, labelOf } from '../datasets'
import { credits, formatMoment } from '../format'

interface Props {
  error: Error
  retry?: () => void
  /** The maximum price of a retry, in credits. */
  price?: number
  /** Nothing else is on the page. */
  standalone?: boolean
  /** The refused action, for the heading, if it is not a search: "The domain is not added". */
  refused?: string
}

/** retryLabel is the label of a button that repeats a request. */
export const retryLabel = (price = 0) => (price > 0 ? `Try again · ${credits(price)}` : 'Try again')

/** Notice shows the error of a request, and what to do. */
export function Notice({ error, retry, price, standalone, refused }: Props) {
  const e = requestError(error)
  const { title, text, retryable } =
    refused && isRejected(e) ? { title: refused, text: sentence(e.message), retryable: false } : explain(e)
  const signIn = e.code === 'provider_required' ? own.exec(e.message)?.[0] : undefined
  return (
    <div className="notice" role="alert">
      {standalone ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p>{text}</p>
      {signIn && (
        <a
          className="button primary"
          href={`${signIn}&return=${encodeURIComponent(location.pathname + location.search)}`}
        >
          Sign in by it
        </a>
      )}
      {retryable && retry && (
        <button className="button" onClick={retry}>
          {retryLabel(price)}
        </button>
      )}
      {e.requestId && (
        <p className="quote">
          If you report this, quote request <code>{e.requestId}</code>
        </p>
      )}
    </div>
  )
}

/** isRejected reports whether the service rejected a request for its content; its message says what is valid. */
const isRejected = ({ status, code }: RequestError) =>
  status >= 400 && status < 500 && status !== 401 && status !== 429 && code !== 'provider_required'

export const viewNotFound = {
  title: 'This View is gone',
  text: 'Somebody has deleted it, or it belongs to another workspace. The records it had are still in Search.',
}

const requestError = (error: Error) =>
  error instanceof RequestError ? error : new RequestError(0, 'unknown', error.message, '')

/** explain describes the error of a request, and whether a retry makes sense. */
export function explain(error: Error): { title: string; text: string; retryable: boolean } {
  const e = requestError(error)
  const at = e.retryAt ? formatMoment(e.retryAt) : undefined
  switch (true) {
    case e.code === 'rate_limited':
      return {
        title: 'The credits of this workspace are used up',
        text: `${at ? `The first ones return at ${at}. ` : ''}What is loaded stays here.`,
        retryable: false,
      }
    case e.code === 'key_budget_used':
      return {
        title: 'The budget of this API key is used up',
        text: `${at ? `The first credits return at ${at}. ` : ''}What is loaded stays here.`,
        retryable: false,
      }
    case e.code === 'too_many_requests':
      return { title: 'Too many counts at once', text: 'Atlas counts again in a moment.', retryable: true }
    case e.status === 503:
      return {
        title: 'Atlas cannot answer right now',
        text: 'It usually lasts seconds. What failed cost nothing.',
        retryable: true,
      }
    case e.status === 0:
      return { title: 'No connection', text: e.message, retryable: true }
    case e.code === 'view_not_found':
      return { ...viewNotFound, retryable: false }
    case e.status === 404:
      return { title: 'Not found', text: 'It may have left the dataset.', retryable: false }
    case e.code === 'provider_required':
      return {
        title: 'This workspace has a sign-in of its own',
        text: 'It lets people in only by that.',
        retryable: false,
      }
    case e.status === 403 && plan.test(e.message):
      return {
        title: `This workspace has the plan ${plan.exec(e.message)?.[1] ?? ''}`,
        text: 'Atlas can be used with the plan Pro. Who runs Atlas for you can change the plan.',
        retryable: true,
      }
    case e.status === 403:
      return { title: 'You have no access', text: sentence(e.message), retryable: true }
    case e.status === 401:
      return { title: 'Your session is over', text: 'Sign in again; nothing here is lost.', retryable: true }
    case e.status >= 500:
      return { title: 'Atlas has failed', text: 'The failure is in its log.', retryable: true }
  }
  return { title: 'This search is not valid', text: sentence(plain(e)), retryable: false }
}

/** The sign-in address in a message of the service. */
const own = /\/session\/sign-in\?workspace=[0-9a-f-]{36}/

/** The plan in a message of the service. */
const plan = /plan is (\w+)/

/** plain rewrites errors of filters with the labels shown here: "Stage must be one of: pre filing, filed". */
const plain = ({ issues, message }: RequestError) =>
  issues.every(({ path: [of] }) => of === 'filters') && issues.length > 0
    ? issues.map(({ path: [, key], message: text }) => `${labelOf(String(key))} ${spaced(text)}`).join('; ')
    : message

/** spaced are the values of a list with spaces. */
const spaced = (text: string) => (text.startsWith('must be one of') ? text.replaceAll('_', ' ') : text)

const sentence = (message: string) => `${capital(message)}.`
