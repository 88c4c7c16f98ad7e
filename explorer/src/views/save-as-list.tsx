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
export const maxListed = 10_000

interface Props {
  book: Book
  /** The name of the list. */
  name: string
  /** How many records the search finds. */
  count: number
  onClose: () => void
}

/**
 * SaveAsList saves the records that the search finds now as a Static View. Those that are not loaded
 * cost a credit each.
 */
export function SaveAsList({ book, name, count, onClose }: Props) {
  const { workspace } = useSearch()
  const client = useQueryClient()
  const { query } = useRows()
  const loaded = query.data ? new Rows(query.data.pages).length : 0
  const whole = query.data !== undefined && !query.hasNextPage
  const listSize = whole ? loaded : Math.min(maxListed, Math.max(count, loaded))
  const [done, setDone] = useState(0)
  const unmounted = useRef(false)
  useEffect(() => {
    unmounted.current = false
    return () => {
      unmounted.current = true
    }
  }, [])
  // A created list is filled by the next attempt.
  const created = useRef<View>(undefined)
  const make = useMutation({
    mutationFn: async () => {
      let { data, hasNextPage } = query
      const idsOf = () => new Rows(data?.pages ?? []).ids().slice(0, maxListed)
      while ((!data || hasNextPage) && idsOf().length < maxListed) {
        // Records that were read stay loaded.
        if (unmounted.current) return
        const next = await query.fetchNextPage({ cancelRefetch: false })
        if (next.error) throw next.error
        data = next.data
        hasNextPage = next.hasNextPage
        setDone(idsOf().length)
      }
      const list = (created.current ??= await saveView(workspace.id, newList(book, name)))
      await runAll(idsOf(), (some) => addRecords(workspace.id, list.id, some))
      updateViewRecords(client, list)
      notify(`“${list.name}” has ${counted(idsOf().length, book)}`)
      onClose()
      go(addressOf(list))
    },
  })
  const price = whole ? 0 : listSize - loaded
  return (
    <section className="stored-parts">
      <h3>Or a list</h3>
      <p>
        A list keeps exactly{' '}
        {listSize < count ? `the first ${counted(listSize, book)}` : `these ${counted(listSize, book)}`}, and finds no
        new ones.
      </p>
      <button
        type="button"
        className="button"
        disabled={make.isPending || !name.trim() || listSize === 0}
        title={name.trim() ? undefined : 'It needs a name'}
        onClick={() => make.mutate()}
      >
        {make.isPending
          ? `Reading ${formatNumber(Math.max(done, loaded))} of ${formatNumber(listSize)}…`
          : `Make a list of ${formatNumber(listSize)} · ${credits(price)}`}
      </button>
      {make.error && <SaveProblem error={make.error} />}
    </section>
  )
}
