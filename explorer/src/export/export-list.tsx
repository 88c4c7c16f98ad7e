import { useQuery } from '@tanstack/react-query'
import { link } from '../address'
import { sessionQuery } from '../api/queries'
import { formatMoment, formatNumber } from '../format'
import { fileName } from './save'
import type { Job } from './job'
import { listJobs } from './store'

function useJobs(workspace: string) {
  const user = useQuery(sessionQuery).data?.id
  return useQuery({
    queryKey: ['exports', user, workspace],
    enabled: user !== undefined,
    queryFn: () => listJobs(user ?? '', workspace),
  })
}

const states: Record<Job['state'], string> = {
  running: 'Not finished',
  paused: 'Not finished',
  complete: 'Complete',
  stopped: 'Stopped',
}

/** ExportList has the exports that this browser stores. */
export function ExportList({ workspace }: { workspace: string }) {
  const jobs = useJobs(workspace)
  return (
    <>
      <header>
        <h1>Exports</h1>
        <p className="lead">
          Files that were made in this browser in the last seven days. To make one, search for something and choose
          Export beside it.
        </p>
      </header>
      {jobs.error && <p className="problem">This browser keeps no files for this page: {jobs.error.message}.</p>}
      {jobs.data?.length === 0 && <p className="quiet">None yet.</p>}
      {jobs.data && jobs.data.length > 0 && <Table jobs={jobs.data} />}
    </>
  )
}

/** Unfinished shows interrupted exports. */
export function Unfinished({ workspace }: { workspace: string }) {
  const jobs = useJobs(workspace).data?.filter((j) => j.state === 'running' || j.state === 'paused') ?? []
  if (jobs.length === 0) return null
  return (
    <section>
      <h2>Not finished</h2>
      <Table jobs={jobs} />
    </section>
  )
}

function Table({ jobs }: { jobs: Job[] }) {
  return (
    <table className="rows">
      <thead>
        <tr>
          <th scope="col">File</th>
          <th scope="col">State</th>
          <th scope="col" className="numeric">
            Rows
          </th>
          <th scope="col" className="numeric">
            Begun
          </th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id}>
            <td>
              <a {...link(`/export/${job.id}`)}>{fileName(job)}</a>
            </td>
            <td>{states[job.state]}</td>
            <td className="numeric">
              {formatNumber(job.rows)}
              {job.state !== 'complete' && <span className="quiet"> of {formatNumber(job.total)}</span>}
            </td>
            <td className="numeric">{formatMoment(new Date(job.startedAt))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
