import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { auditQuery, eventsOf, mostDownloaded, type AuditSearch } from '../api/audit'
import { membersQuery, nameOf } from '../api/people'
import { formatMoment, formatNumber } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { saveFile } from '../ui/save-file'
import { notify } from '../ui/toast'
import { csvOf, detailsOf, kinds, textOf, actorOf } from './audit-texts'

/** AuditLog lists changes of access and exports of data. */
export function AuditLog({ workspace }: ScreenProps) {
  const administers = workspace.role === 'owner' || workspace.role === 'admin'
  return (
    <>
      <header>
        <h1>Audit log</h1>
        <p className="lead">
          Who signed in, and who changed access or settings. {!administers && 'Owners and admins see it.'}
        </p>
      </header>
      {administers && <Events workspace={workspace.id} />}
    </>
  )
}

function Events({ workspace }: { workspace: string }) {
  const [search, setSearch] = useState<AuditSearch>({ action: '', person: '', since: '', until: '' })
  const set = (change: Partial<AuditSearch>) => setSearch((s) => ({ ...s, ...change }))
  const members = useQuery(membersQuery(workspace))
  const people = new Map(members.data?.map((m) => [m.id, nameOf(m)]))
  const log = useInfiniteQuery(auditQuery(workspace, search))
  const events = log.data?.pages.flatMap((p) => p.events)
  return (
    <>
      <div className="actions" role="search" aria-label="Search the audit log">
        <select
          className="control"
          aria-label="What changed"
          value={search.action}
          onChange={(e) => set({ action: e.target.value })}
        >
          {kinds.map(([kind, text]) => (
            <option key={kind} value={kind}>
              {text}
            </option>
          ))}
        </select>
        <select
          className="control"
          aria-label="Who"
          value={search.person}
          onChange={(e) => set({ person: e.target.value })}
        >
          <option value="">Anybody</option>
          {members.data?.map((m) => (
            <option key={m.id} value={m.id}>
              {nameOf(m)}
            </option>
          ))}
        </select>
        <input
          type="date"
          className="control"
          aria-label="From"
          value={search.since}
          onChange={(e) => set({ since: e.target.value })}
        />
        <input
          type="date"
          className="control"
          aria-label="Before"
          value={search.until}
          onChange={(e) => set({ until: e.target.value })}
        />
        <Download workspace={workspace} search={search} />
      </div>
      {log.error && <Notice error={log.error} retry={() => void log.refetch()} />}
      {log.isPending && <div className="skeleton" style={{ height: 144 }} />}
      {events?.length === 0 && <p className="quiet">Nothing like that happened.</p>}
      {events && events.length > 0 && (
        <ol className="deliveries" aria-label="Events, the newest first">
          {events.map((e) => (
            <li key={e.id}>
              <span className="who">
                <b>{textOf(e.action)}</b>
                <span>
                  {formatMoment(new Date(e.at))}, <bdi>{actorOf(e, people)}</bdi>
                  {e.network && `, from ${e.network}`}
                </span>
                {detailsOf(e) && (
                  <span>
                    <bdi>{detailsOf(e)}</bdi>
                  </span>
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
      {log.hasNextPage && (
        <button className="button" disabled={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
          Show earlier ones
        </button>
      )}
    </>
  )
}

function Download({ workspace, search }: { workspace: string; search: AuditSearch }) {
  const read = useMutation({
    gcTime: 0,
    mutationFn: async (form: 'csv' | 'json') => {
      const events = await eventsOf(workspace, search)
      const text = form === 'csv' ? csvOf(events) : JSON.stringify(events, null, 1)
      saveFile(`atlas-audit-log.${form}`, new Blob([text], { type: form === 'csv' ? 'text/csv' : 'application/json' }))
      if (events.length >= mostDownloaded) notify(`The newest ${formatNumber(events.length)} events are in the file`)
    },
  })
  return (
    <>
      <button className="button" disabled={read.isPending} onClick={() => read.mutate('csv')}>
        Download CSV
      </button>
      <button className="button" disabled={read.isPending} onClick={() => read.mutate('json')}>
        Download JSON
      </button>
      {read.error && <Notice error={read.error} />}
    </>
  )
}
