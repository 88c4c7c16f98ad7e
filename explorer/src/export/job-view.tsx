import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { go, link } from '../address'
import { RequestError } from '../api/client'
import { ViewChanged } from '../api/queries'
import { credits, formatMoment, formatNumber } from '../format'
import { Notice } from '../ui/notice'
import { recordsJoined } from './join'
import { pageSize } from './page'
import { deleteExport, pause, resume, stop, useRunsInOtherTab, useProgress, type Progress } from './runner'
import { fileName, saveExport } from './save'
import type { Job } from './job'

/** JobView is one export: its progress and actions. */
export function JobView({ job }: { job: Job }) {
  const client = useQueryClient()
  const progress = useProgress(job.id)
  const inOtherTab = useRunsInOtherTab(job)
  const expected = Math.max(job.total, job.rows)
  const done = job.state === 'complete' || job.state === 'stopped'
  return (
    <>
      <header>
        <p className="quiet">Export</p>
        <h1>{fileName(job)}</h1>
        <p className="lead" role="status">
          {inOtherTab ? 'Writing, in another tab…' : statusOf(job, progress)}
        </p>
      </header>
      <div>
        <progress
          max={expected || 1}
          value={job.state === 'complete' ? expected || 1 : job.rows}
          aria-label="Rows written"
        />
        <dl className="figures">
          <Figure label="Rows">
            {formatNumber(job.rows)} <span className="quiet">of {formatNumber(expected)}</span>
          </Figure>
          <Figure label="Paid">{credits(job.credits)}</Figure>
          <Figure label="Size">{sizeOf(job.bytes)}</Figure>
          {progress.running && !progress.waiting && <TimeLeft job={job} progress={progress} />}
        </dl>
      </div>
      <div className="actions">
        <Actions client={client} job={job} running={progress.running || inOtherTab} />
      </div>
      {!progress.running && progress.error && (
        <Failure error={progress.error} retry={() => void resume(client, job.id)} price={priceOf(job)} />
      )}
      <p className="quiet">
        {done
          ? 'The file is kept in this browser for seven days, or until you remove it.'
          : 'What is written is kept in this browser and not paid for again.'}{' '}
        <a {...link('/export')}>All exports</a>
      </p>
    </>
  )
}

/** priceOf is the maximum price of the rest of an export. */
const priceOf = (job: Job) => (Math.max(0, job.total - job.rows) || pageSize) * (job.join ? recordsJoined : 1)

function Actions({ client, job, running }: { client: QueryClient; job: Job; running: boolean }) {
  const save = (
    <button
      className={job.state === 'complete' ? 'button primary' : 'button'}
      disabled={job.pages === 0}
      onClick={() => void saveExport(job)}
    >
      {job.state === 'complete' ? 'Save the file' : `Save ${formatNumber(job.rows)} rows`}
    </button>
  )
  const remove = (
    <button
      className="button"
      onClick={() => void deleteExport(client, job).then(() => go('/export', { replace: true }))}
    >
      Remove from this browser
    </button>
  )
  const end = (
    <button className="button" onClick={() => void stop(client, job)}>
      Stop and keep {formatNumber(job.rows)} rows
    </button>
  )
  if (job.state === 'complete' || job.state === 'stopped') {
    return (
      <>
        {save}
        {remove}
      </>
    )
  }
  if (running) {
    return (
      <>
        <button className="button primary" onClick={() => pause(job.id)}>
          Pause
        </button>
        {end}
      </>
    )
  }
  return (
    <>
      <button className="button primary" onClick={() => void resume(client, job.id)}>
        Resume · up to {credits(priceOf(job))}
      </button>
      {end}
      {save}
    </>
  )
}

function statusOf(job: Job, { running, waiting }: Progress): string {
  if (job.state === 'complete') return 'Complete.'
  if (job.state === 'stopped') return 'Stopped. The file has what was written until then.'
  if (!running) return 'Paused.'
  const at = waiting?.until ? formatMoment(waiting.until) : ''
  switch (waiting?.why) {
    case 'credits':
      return `The credits are used up. The first ones return at ${at}; the export then goes on by itself while this page is open.`
    case 'busy':
      return 'Atlas cannot answer right now. The export tries again in a moment; this costs nothing.'
    case 'offline':
      return 'No connection. The export tries again in a moment.'
    case 'session':
      return 'Your session is over. The export goes on when you have signed in.'
  }
  return 'Writing…'
}

function Figure({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function TimeLeft({ job, progress: { from } }: { job: Job; progress: Progress }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const written = from ? job.rows - from.rows : 0
  if (!from || written <= 0 || now <= from.at) return null
  const seconds = ((job.total - job.rows) * (now - from.at)) / written / 1000
  return <Figure label="Time left">{timeOf(Math.max(0, seconds))}</Figure>
}

function timeOf(seconds: number): string {
  if (seconds < 60) return 'under a minute'
  const minutes = Math.round(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function sizeOf(bytes: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const
  const i = Math.min(units.length - 1, bytes > 0 ? Math.floor(Math.log10(bytes) / 3) : 0)
  const format = { style: 'unit', unit: units[i] ?? 'byte', unitDisplay: i === 0 ? 'long' : 'short' } as const
  return new Intl.NumberFormat(undefined, { ...format, maximumFractionDigits: 1 }).format(bytes / 1000 ** i)
}

function Failure({ error, ...props }: { error: Error; retry: () => void; price: number }) {
  if (error instanceof RequestError) return <Notice error={error} {...props} />
  return (
    <p className="problem" role="alert">
      {error.message}.
      {error instanceof ViewChanged && ' The export does not mix what it found before and after; begin another one.'}
    </p>
  )
}
