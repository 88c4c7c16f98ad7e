import { RequestError } from '../api/client'
import { Notice } from './notice'

/** Problem explains why something was not done, by the text for the code of the error, if there is one. */
export function Problem({ error, texts }: { error: Error; texts: Record<string, string> }) {
  const text = error instanceof RequestError ? texts[error.code] : undefined
  if (!text) return <Notice error={error} refused="It is not saved" />
  return (
    <p className="problem" role="alert">
      {text}
    </p>
  )
}
