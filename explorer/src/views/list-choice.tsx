import { useInfiniteQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useState } from 'react'
import type { Book } from '../api/book'
import { viewDatasets, viewsQuery, type View } from '../api/views'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import { Notice } from '../ui/notice'

interface Props {
  dataset: Book
  chosen: View | 'new' | undefined
  choose: (list: View | 'new') => void
}

/** ListChoice chooses one of the Static Views of a dataset, or a new one. */
export function ListChoice({ dataset, chosen, choose }: Props) {
  const { workspace } = useSearch()
  const [text, setText] = useState('')
  const query = useDeferredValue(text.trim())
  const lists = useInfiniteQuery(
    viewsQuery(workspace.id, {
      dataset: viewDatasets[dataset],
      view_type: 'static',
      ...(query ? { query } : {}),
    }),
  )
  const found = lists.data?.pages.flat() ?? []
  const group = useId()
  return (
    <>
      {(found.length > 7 || text) && (
        <input
          className="filter-input"
          type="text"
          placeholder="Search lists"
          aria-label="Search lists"
          value={text}
          onChange={(e) => setText(e.target.value)}
        />
      )}
      {lists.error && <Notice error={lists.error} retry={() => void lists.refetch()} />}
      {lists.isPending && !lists.error && <div className="skeleton line" style={{ width: '60%' }} />}
      {lists.data && (
        <fieldset className="choice-list scrolls">
          <legend className="sr">Lists</legend>
          {found.map((v) => (
            <label key={v.id}>
              <input
                type="radio"
                name={group}
                checked={chosen !== 'new' && chosen?.id === v.id}
                onChange={() => choose(v)}
              />
              <bdi>{v.name}</bdi>
              <span className="count">{formatNumber(v.record_count ?? 0)}</span>
            </label>
          ))}
          {found.length === 0 && text && <p className="quiet">No list is called so.</p>}
          <label>
            <input type="radio" name={group} checked={chosen === 'new'} onChange={() => choose('new')} />
            <span>A new list</span>
          </label>
        </fieldset>
      )}
      {lists.hasNextPage && (
        <button type="button" className="link" onClick={() => void lists.fetchNextPage()}>
          Show more lists
        </button>
      )}
    </>
  )
}
