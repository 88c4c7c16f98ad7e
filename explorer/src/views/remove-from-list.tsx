import { useQueryClient } from '@tanstack/react-query'
import { undoRemoveRecords, datasetOf, updateViewRecords, removeRecords, type View } from '../api/views'
import { counted } from '../datasets'
import { useSearch } from '../search/context'
import { Dialog } from '../ui/dialog'
import { notify } from '../ui/toast'
import { BatchProgress } from './batch-progress'
import { useBatch } from './use-batch'

interface Props {
  list: View
  ids: string[]
  onClose: () => void
}

/** RemoveFromList removes records from a Static View. They stay in Data and in the book. */
export default function RemoveFromList({ list, ids, onClose }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const batch = useBatch()
  const dataset = datasetOf(list)
  const what = counted(new Set(ids).size, dataset)
  const remove = async () => {
    const outcomes = await batch.start(ids, (some) => removeRecords(workspace.id, list.id, some))
    const removed = outcomes.filter((o) => o.status === 'ok').map((o) => o.id)
    const putBack = updateViewRecords(client, list, removed)
    if (removed.length < new Set(ids).size) return
    notify(`${what} removed from “${list.name}”`, () => undoRemoveRecords(client, list, removed).then(putBack))
    onClose()
  }
  return (
    <Dialog title={`Remove ${what} from “${list.name}”`} onClose={batch.running ? undefined : onClose}>
      {batch.total === 0 ? (
        <p>For everyone in {workspace.name}. The records stay in the dataset, with their status, tags and notes.</p>
      ) : (
        <BatchProgress workspace={workspace.id} dataset={dataset} batch={batch} done="removed" />
      )}
      <div className="actions">
        <button className="button" onClick={batch.running ? batch.stop : onClose}>
          {batch.running ? 'Stop' : 'Cancel'}
        </button>
        <button className="button primary" disabled={batch.running} onClick={() => void remove()}>
          Remove {what}
        </button>
      </div>
    </Dialog>
  )
}
