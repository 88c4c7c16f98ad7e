import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { leftOf } from '../api/batch'
import { tiers, type Book } from '../api/book'
import type { Schemas } from '../api/client'
import { facetsQuery } from '../api/queries'
import { counted } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { BatchProgress } from './batch-progress'
import { settingAll, type Setting } from './statuses'
import { useBatch } from './use-batch'

interface Props {
  dataset: Book
  ids: string[]
  onClose: () => void
}

/** SetStatus sets status and tier of many records, and adds tags to them. Empty fields are not changed. */
export default function SetStatus({ dataset, ids, onClose }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const batch = useBatch()
  const [status, setStatus] = useState('')
  const [clear, setClear] = useState(false)
  const [tier, setTier] = useState('')
  const [tags, setTags] = useState('')
  const used = useQuery(
    facetsQuery(workspace.id, dataset, { source: { kind: 'book' } }, [
      { field: 'workspace_status', limit: 50 },
      { field: 'tags', limit: 50 },
    ]),
  )
  const id = useId()
  const added = [
    ...new Set(
      tags
        .split(',')
        .map((t) => t.trim())
        .filter(Boolean),
    ),
  ]
  const next: Setting['next'] = {
    ...(clear ? { workspace_status: null } : status.trim() ? { workspace_status: status.trim() } : {}),
    ...(tier ? { icp_tier: tier === 'none' ? null : (tier as Schemas['IcpTier']) } : {}),
  }
  const nothing = Object.keys(next).length === 0 && added.length === 0
  const what = counted(new Set(ids).size, dataset)

  const [all, setAll] = useState<ReturnType<typeof settingAll>>()
  const start = () => {
    const setting = settingAll(client, workspace.id, dataset, { next, tags: added })
    setAll(setting)
    void batch.start(ids, setting.run)
  }
  const left = leftOf(ids, batch.outcomes)
  const done = () => {
    const set = batch.outcomes.filter((o) => o.status === 'ok').length
    if (all && set > 0) {
      const undone = (stayed: number) =>
        notify(stayed === 0 ? 'Undone' : `Undone, but for ${counted(stayed, dataset)} that somebody has changed since`)
      notify(`${counted(set, dataset)} are set`, () => all.undo().then(undone))
    }
    onClose()
  }

  if (batch.total > 0) {
    return (
      <Dialog title={`Set status of ${what}`} onClose={batch.running ? undefined : done}>
        <BatchProgress workspace={workspace.id} dataset={dataset} batch={batch} done="are set, and in your book" />
        <div className="actions">
          {batch.running ? (
            <button className="button" onClick={batch.stop}>
              Stop
            </button>
          ) : (
            <>
              {all && left.length > 0 && (
                <button className="button" onClick={() => void batch.start(left, all.run)}>
                  Try {formatNumber(left.length)} again
                </button>
              )}
              <button className="button primary" autoFocus onClick={done}>
                Done
              </button>
            </>
          )}
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title={`Set status of ${what}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          start()
        }}
      >
        <label className="field">
          <span>Status</span>
          <input
            type="text"
            autoFocus
            maxLength={100}
            list={`${id}-status`}
            placeholder="Stays as it is"
            disabled={clear}
            value={status}
            onChange={(e) => setStatus(e.target.value)}
          />
        </label>
        <label className="check">
          <input type="checkbox" checked={clear} onChange={(e) => setClear(e.target.checked)} />
          <span>Clear the status</span>
        </label>
        {dataset === 'accounts' && (
          <label className="field">
            <span>Tier</span>
            <select value={tier} onChange={(e) => setTier(e.target.value)}>
              <option value="">Stays as it is</option>
              {tiers.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
              <option value="none">No tier</option>
            </select>
          </label>
        )}
        <label className="field">
          <span>Add tags</span>
          <input
            type="text"
            list={`${id}-tags`}
            placeholder="With commas between them"
            value={tags}
            onChange={(e) => setTags(e.target.value)}
          />
        </label>
        {[0, 1].map((i) => (
          <datalist key={i} id={`${id}-${i === 0 ? 'status' : 'tags'}`}>
            {used.data?.facets[i]?.values?.map((v) => (
              <option key={v.value} value={v.label ?? v.value} />
            ))}
          </datalist>
        ))}
        <p className="quiet">
          Free. Records that are not in your book come into it. A status that a record has is replaced, its tags and
          notes stay.
        </p>
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={nothing}>
            Set for {what}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
