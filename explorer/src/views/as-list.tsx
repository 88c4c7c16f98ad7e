import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { go } from '../address'
import { runAll } from '../api/batch'
import type { Book } from '../api/book'
import { Rows } from '../api/pages'
import { addRecords, newList, updateViewRecords, saveView, type View } from '../api/views'
import { counted } from '../datasets'
import { credits, formatNumber } from '../format'
import { useSearch } from '../search/context'
import { useRows } from '../search/use-rows'
import { notify } from '../ui/toast'
import { SaveProblem } from './save-problem'
import { addressOf } from './view-row'

/** The maximum number of records read for a list. */
export const mostListed = 10_000

interface Props {
  book: Book
  /** The name of the list. */
  name: string
  /** How many records the search finds. */
  count: number
  onClose: () => void
}

/**
 * AsList saves the records that the search finds now as a Static View. Those that are not loaded
 * cost a credit each.
 */
export function AsList({ book, name, count, onClose }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const { query } = useRows()
  const loaded = query.data ? new Rows(query.data.pages).length : 0
  const whole = query.data !== undefined && !query.hasNextPage
  const wanted = whole ? loaded : Math.min(mostListed, Math.max(count, loaded))
  const [done, setDone] = useState(0)
  const gone = useRef(false)
  useEffect(() => {
    gone.current = false
    return () => {
      gone.current = true
    }
  }, [])
  // A created list is filled by the next attempt.
  const made = useRef<View>(undefined)
  const make = useMutation({
    mutationFn: async () => {
      let { data, hasNextPage } = query
      const idsOf = () => new Rows(data?.pages ?? []).ids().slice(0, mostListed)
      while ((!data || hasNextPage) && idsOf().length < mostListed) {
        // Records that were read stay loaded.
        if (gone.current) return
        const next = await query.fetchNextPage({ cancelRefetch: false })
        if (next.error) throw next.error
        data = next.data
        hasNextPage = next.hasNextPage
        setDone(idsOf().length)
      }
      const list = (made.current ??= await saveView(workspace.id, newList(book, name)))
      await runAll(idsOf(), (some) => addRecords(workspace.id, list.id, some))
      updateViewRecords(client, list)
      notify(`“${list.name}” has ${counted(idsOf().length, book)}`)
      onClose()
      go(addressOf(list))
    },
  })
  const price = whole ? 0 : wanted - loaded
  return (
    <section className="kept">
      <h3>Or a list</h3>
      <p>
        A list keeps exactly {wanted < count ? `the first ${counted(wanted, book)}` : `these ${counted(wanted, book)}`},
        and finds no new ones.
      </p>
      <button
        type="button"
        className="button"
        disabled={make.isPending || !name.trim() || wanted === 0}
        title={name.trim() ? undefined : 'It needs a name'}
        onClick={() => make.mutate()}
      >
        {make.isPending
          ? `Reading ${formatNumber(Math.max(done, loaded))} of ${formatNumber(wanted)}…`
          : `Make a list of ${formatNumber(wanted)} · ${credits(price)}`}
      </button>
      {make.error && <SaveProblem error={make.error} />}
    </section>
  )
}
