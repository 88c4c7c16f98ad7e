import { link } from '../address'
import type { Records } from '../datasets'
import { formatDay } from '../format'

interface Props {
  signal: Records['signals']
  type: string
  action: string
  act: () => void
}

/** QueueItem is a signal with its records. */
export function QueueItem({ signal, type, action, act }: Props) {
  const { id, title, summary, project_id, project_name, account_ids, city, occurred_at } = signal
  return (
    <li className="queue-item">
      <div>
        <span className="quiet">
          {type} · {occurred_at ? formatDay(occurred_at) : 'no day'}
          {city && ` · ${city}`}
        </span>
        <a className="title" {...link(`/signals/${id}`)}>
          {title}
        </a>
        {summary && <p>{summary}</p>}
        <span className="about">
          {project_id && <a {...link(`/projects/${project_id}`)}>{project_name || 'Project'}</a>}
          {account_ids.map((account, i) => (
            <a key={account} {...link(`/accounts/${account}`)}>
              {account_ids.length === 1 ? 'Firm' : `Firm ${i + 1}`}
            </a>
          ))}
        </span>
      </div>
      <button className="button" aria-label={`${action}: ${title}`} onClick={act}>
        {action}
      </button>
    </li>
  )
}
