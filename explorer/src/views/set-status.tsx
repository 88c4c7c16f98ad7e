import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Book } from '../api/book'
import { counted } from '../datasets'
import { useSearch } from '../search/context'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { BatchActions } from './batch-actions'
import { BatchProgress } from './batch-progress'
import { StatusForm } from './status-form'
import { bulkChange } from './statuses'
import { useBatch } from './use-batch'

interface Props {
  dataset: Book
  ids: string[]
  onClose: () => void
}

/** SetStatus sets status and tier of many records, and adds tags to them. */
export default function SetStatus({ dataset, ids, onClose }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const batch = useBatch()
  const [all, setAll] = useState<ReturnType<typeof bulkChange>>()
  const what = counted(new Set(ids).size, dataset)
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
        <BatchActions batch={batch} ids={ids} retry={(left) => void (all && batch.start(left, all.run))} done={done} />
      </Dialog>
    )
  }
  return (
    <Dialog title={`Set status of ${what}`} onClose={onClose}>
      <StatusForm
        dataset={dataset}
        what={what}
        set={(setting) => {
          const started = bulkChange(client, workspace.id, dataset, setting)
          setAll(started)
          void batch.start(ids, started.run)
        }}
        onClose={onClose}
      />
    </Dialog>
  )
}
