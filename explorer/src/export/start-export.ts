import { go } from '../address'
import type { Source } from './job'
import { writeSource } from './store'

/** startExport shows the form and the price of an export, and exports nothing yet. */
export async function startExport(source: Source): Promise<void> {
  const id = crypto.randomUUID()
  await writeSource(id, source)
  go(`/export/${id}`)
}
