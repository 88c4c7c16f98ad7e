import { useQuery } from '@tanstack/react-query'
import { link } from '../address'
import { alertsQuery, restText, unseenQuery } from '../api/alerts'
import { viewDatasets } from '../api/views'
import { counted, type Dataset } from '../datasets'
import { formatMoment } from '../format'

/** AlertEntries are the records that began to match this user's Views since they looked. They are free. */
export function AlertEntries({ workspace }: { workspace: string }) {
  const alerts = useQuery(alertsQuery(workspace))
  const some = alerts.data?.some((a) => a.new_count > 0) ?? false
  const unseen = useQuery({ ...unseenQuery(workspace), enabled: some })
  const resting = alerts.data?.filter((a) => a.state === 'resting') ?? []
  const entries = (some && unseen.data) || []
  if (entries.length === 0 && resting.length === 0) return null
  return (
    <section aria-label="Alerts on your Views">
      <h2>New in your Views</h2>
      <ul className="queue-list">
        {entries.map((e) => {
          const alert = alerts.data?.find((a) => a.view_id === e.view_id)
          if (!alert) return null
          return (
            <li key={`${e.view_id} ${e.number}`} className="queue-item">
              <div>
                <span className="quiet">
                  {counted(e.count, datasetNamed(alert.dataset))} · {formatMoment(new Date(e.at))}
                </span>
                <a className="title" {...link(`/views/${e.view_id}`)}>
                  <bdi>{alert.view_name}</bdi>
                </a>
              </div>
            </li>
          )
        })}
        {resting.map((a) => (
          <li key={a.view_id} className="queue-item">
            <div>
              <span className="quiet">{restText(a.rest)}</span>
              <a className="title" {...link(`/views/${a.view_id}`)}>
                <bdi>{a.view_name}</bdi>
              </a>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

const datasetNamed = (name: string): Dataset =>
  (Object.keys(viewDatasets) as (keyof typeof viewDatasets)[]).find((b) => viewDatasets[b] === name) ?? 'projects'
