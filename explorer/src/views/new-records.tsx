import { useMutation, useQuery } from '@tanstack/react-query'
import { alertQuery, restText, markSeenMutation, unseenQuery } from '../api/alerts'
import { datasetOf, type View } from '../api/views'
import { counted } from '../datasets'
import { formatNumber } from '../format'
import { notifyFailure } from '../ui/toast'

/** useNewCount counts what is new in a View since the user looked; 0 without an alert. */
export function useNewCount(view: View): number {
  const { data } = useQuery(alertQuery(view.workspace_id, view.id))
  return data?.new_count ?? 0
}

/** NewCount shows in a list of Views the number of new records in one. */
export function NewCount({ view }: { view: View }) {
  const count = useNewCount(view)
  return count > 0 ? <span className="new-count">{formatNumber(count)} new</span> : null
}

/** NewRecordsNotice shows above the rows of a View the number of new records, until the user has seen them. */
export function NewRecordsNotice({ view }: { view: View }) {
  const count = useNewCount(view)
  const unseen = useQuery({ ...unseenQuery(view.workspace_id, view.id), enabled: count > 0 })
  const see = useMutation({ ...markSeenMutation(view.workspace_id, view.id), onError: notifyFailure })
  const latest = unseen.data?.[0]?.number
  if (count === 0 || latest === undefined) return null
  return (
    <p className="view-changed" role="status">
      {counted(count, datasetOf(view))} began to match since you looked, and {count === 1 ? 'is' : 'are'} marked below.
      <button className="link" disabled={see.isPending} onClick={() => see.mutate(latest)}>
        Seen
      </button>
    </p>
  )
}

/** Resting shows in a list of Views that the alert on one rests. */
export function Resting({ view }: { view: View }) {
  const { data } = useQuery(alertQuery(view.workspace_id, view.id))
  return data?.rest ? <span className="quiet rest">{restText(data.rest)}</span> : null
}

/** RestNotice shows above the rows of a View that its alert rests. */
export function RestNotice({ view }: { view: View }) {
  const { data } = useQuery(alertQuery(view.workspace_id, view.id))
  const see = useMutation({ ...markSeenMutation(view.workspace_id, view.id), onError: notifyFailure })
  if (!data?.rest) return null
  return (
    <p className="view-changed" role="status">
      {restText(data.rest)}
      {!data.rest_seen && (
        <button className="link" disabled={see.isPending} onClick={() => see.mutate(undefined)}>
          Seen
        </button>
      )}
    </p>
  )
}

const none: ReadonlySet<string> = new Set()

/** useNewIDs are the records of a View that are new since the user looked. */
export function useNewIDs(workspace: string, view: string | undefined): ReadonlySet<string> {
  const { data: alert } = useQuery({ ...alertQuery(workspace, view), enabled: view !== undefined })
  const some = (alert?.new_count ?? 0) > 0
  const unseen = useQuery({ ...unseenQuery(workspace, view), enabled: some, select: idsOf })
  return some ? (unseen.data ?? none) : none
}

const idsOf = (entries: { record_ids: string[] }[]): ReadonlySet<string> =>
  new Set(entries.flatMap((e) => e.record_ids))
