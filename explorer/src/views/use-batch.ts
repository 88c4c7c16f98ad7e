import { useEffect, useRef, useState } from 'react'
import { runInBatches, type Outcome, type Run } from '../api/batch'

export interface Batch {
  /** How many records are to be done; 0 before the start. */
  total: number
  outcomes: Outcome[]
  running: boolean
  /** Why it ended early. */
  error: Error | undefined
  start: (ids: string[], run: Run) => Promise<Outcome[]>
  stop: () => void
}

/** useBatch runs batches and collects the result of each record. A restart adds to that. */
export function useBatch(): Batch {
  const [outcomes, setOutcomes] = useState<Outcome[]>([])
  const [total, setTotal] = useState(0)
  const [running, setRunning] = useState(false)
  const [error, setError] = useState<Error>()
  const controller = useRef<AbortController>(undefined)
  // A batch stops when it is no longer visible.
  useEffect(() => () => controller.current?.abort(), [])
  const start = async (ids: string[], run: Run) => {
    const own = new AbortController()
    controller.current = own
    const unique = [...new Set(ids)]
    const retried = new Set(unique)
    let all = outcomes.filter((o) => !retried.has(o.id))
    setTotal(all.length + unique.length)
    setOutcomes(all)
    setError(undefined)
    setRunning(true)
    try {
      await runInBatches(unique, run, own.signal, (done) => {
        all = [...all, ...done]
        setOutcomes(all)
      })
    } catch (cause) {
      setError(cause as Error)
    } finally {
      setRunning(false)
    }
    return all
  }
  return { total, outcomes, running, error, start, stop: () => controller.current?.abort() }
}
