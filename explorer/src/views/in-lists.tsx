import './in-lists.css'
import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useState } from 'react'
import { link } from '../address'
import type { Book } from '../api/book'
import { listsQuery, type View } from '../api/views'
import { useSearch } from '../search/context'
import RemoveFromList from './remove-from-list'
import { addressOf } from './view-row'

/** InLists has the Static Views that a record is in, which is free. */
export default function InLists({ dataset, id }: { dataset: Book; id: string }) {
  const { workspace } = useSearch()
  const lists = useQuery(listsQuery(workspace.id, dataset, id))
  const [leaves, setLeaves] = useState<View>()
  return (
    <>
      {lists.error && !lists.data && (
        <p className="problem" role="alert">
          The lists did not come: {lists.error.message}.{' '}
          <button className="link" onClick={() => void lists.refetch()}>
            Try again
          </button>
        </p>
      )}
      {lists.data && lists.data.length > 0 && (
        <section className="in-lists" aria-label="Lists that it is in">
          <h3>In lists</h3>
          <ul>
            {lists.data.map((list) => (
              <li className="chip" key={list.id}>
                <a {...link(addressOf(list))} title={list.name}>
                  <bdi>{list.name}</bdi>
                </a>
                <button aria-label={`Remove from ${list.name}`} onClick={() => setLeaves(list)}>
                  <X size={12} aria-hidden />
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {leaves && <RemoveFromList list={leaves} ids={[id]} onClose={() => setLeaves(undefined)} />}
    </>
  )
}
