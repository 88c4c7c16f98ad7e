import './grid.css'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { followed } from '../address'
import { nouns, capital, type AnyRecord } from '../datasets'
import { formatNumber } from '../format'
import { useNarrow } from '../ui/use-narrow'
import { columnsOf, type Column } from './columns'
import { useSearch } from './context'
import { format } from './state'

/** Heights of a row in pixels: of a table, and of a card on a narrow page. */
const heights = { row: 36, card: 64 }
/** Space beside the columns in pixels. */
const inset = 12
/** The next page is read when this many loaded rows are left below, once one has scrolled. */
const ahead = 5

/** Where each table was scrolled to, in pixels, for whoever comes back to it. */
const offsets = new Map<string, number>()

interface Props {
  /** Identifies the search. */
  name: string
  rows: AnyRecord[]
  total: number
  loading: boolean
  /** Reads the next page; absent at the end. */
  onEnd: (() => void) | undefined
}

/** Grid is the table of rows. It draws only those in sight. */
export function Grid({ name, rows, total, loading, onEnd }: Props) {
  const { state, change } = useSearch()
  const narrow = useNarrow()
  const columns = columnsOf(state)
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(() =>
    Math.max(
      0,
      rows.findIndex((r) => r.id === state.record),
    ),
  )
  const moved = useRef(false)
  // The compiler of React cannot see into the virtualizer, and need not.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow ? heights.card : heights.row),
    overscan: 8,
    initialOffset: () => offsets.get(name) ?? 0,
  })
  useEffect(() => virtual.measure(), [narrow, virtual])
  const items = virtual.getVirtualItems()
  const template = columns
    .map(({ width: [least, share] }) => (share ? `minmax(${least}px, ${share}fr)` : `${least}px`))
    .join(' ')

  // Below this width the table scrolls sideways.
  const minWidth = narrow ? undefined : columns.reduce((sum, c) => sum + c.width[0], 2 * inset)

  useEffect(() => {
    if (!moved.current) return
    virtual.scrollToIndex(active)
    document.getElementById(rowID(active))?.focus({ preventScroll: true })
  }, [active, virtual])

  const open = (index: number) => {
    const record = rows[index]
    if (record) change({ ...state, record: record.id }, { replace: state.record !== undefined })
  }
  const move = (by: number) => {
    moved.current = true
    const next = Math.min(rows.length - 1, Math.max(0, active + by))
    setActive(next)
    if (state.record) open(next)
    if (next >= rows.length - 1) onEnd?.()
  }
  return (
    <>
      <div
        className={narrow ? 'grid narrow' : 'grid'}
        ref={scroller}
        role="grid"
        aria-label={capital(nouns[state.dataset].many)}
        aria-rowcount={total + 1}
        aria-colcount={columns.length}
        onScroll={(e) => {
          const box = e.currentTarget
          offsets.set(name, box.scrollTop)
          const below = box.scrollHeight - box.scrollTop - box.clientHeight
          if (box.scrollTop > 0 && below < ahead * heights.row) onEnd?.()
        }}
        onKeyDown={(e) => {
          if (e.target instanceof HTMLButtonElement) return
          const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / heights.row) - 2)
          const step = {
            ArrowDown: 1,
            j: 1,
            ArrowUp: -1,
            k: -1,
            PageDown: page,
            PageUp: -page,
            Home: -rows.length,
            End: rows.length,
          }[e.key]
          if (e.metaKey || e.ctrlKey || e.altKey) return
          if (step) move(step)
          else if (e.key === 'Enter' || e.key === ' ') open(active)
          else return
          e.preventDefault()
        }}
      >
        <div role="rowgroup" className="grid-head">
          <div
            role="row"
            aria-rowindex={1}
            className="grid-row head"
            style={{ gridTemplateColumns: template, minWidth }}
          >
            {columns.map((c) => (
              <Head key={c.key} column={c} />
            ))}
          </div>
        </div>
        <div role="rowgroup" className="grid-body" style={{ height: virtual.getTotalSize(), minWidth }}>
          {items.map((item) => {
            const record = rows[item.index]
            if (!record) return null
            return (
              <div
                role="row"
                key={record.id}
                id={rowID(item.index)}
                className="grid-row"
                aria-rowindex={item.index + 2}
                aria-selected={record.id === state.record}
                tabIndex={item.index === active ? 0 : -1}
                style={{
                  transform: `translateY(${item.start}px)`,
                  height: item.size,
                  gridTemplateColumns: narrow ? undefined : template,
                }}
                onClick={(e) => {
                  if (e.target instanceof HTMLAnchorElement) return
                  setActive(item.index)
                  open(item.index)
                }}
                onFocus={() => setActive(item.index)}
              >
                {columns.map((c, i) => (
                  <div
                    role="gridcell"
                    key={c.key}
                    aria-colindex={i + 1}
                    className={c.numeric ? 'cell numeric' : 'cell'}
                    data-key={c.key}
                  >
                    {i === 0 ? (
                      <a
                        tabIndex={-1}
                        href={format({ ...state, record: record.id })}
                        onClick={followed}
                        title={String(c.cell(record))}
                      >
                        {c.cell(record)}
                      </a>
                    ) : (
                      c.cell(record)
                    )}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
      {loading && <div className="skeleton line" style={{ width: '70%', margin: 12 }} />}
      <p className="sr" aria-live="polite">
        {formatNumber(rows.length)} rows loaded
      </p>
    </>
  )
}

const rowID = (index: number) => `row-${index}`

function Head({ column }: { column: Column<AnyRecord> }) {
  const { state, change } = useSearch()
  const mine = state.sort?.field === column.key ? state.sort.order : undefined
  const first = column.key === 'name' ? 'asc' : 'desc'
  const next = mine === undefined ? first : mine === 'asc' ? 'desc' : 'asc'
  return (
    <div
      role="columnheader"
      className={column.numeric ? 'cell numeric' : 'cell'}
      aria-sort={mine ? (mine === 'asc' ? 'ascending' : 'descending') : column.sorts ? 'none' : undefined}
    >
      {column.sorts ? (
        <button
          title="Another order is another search: its rows are loaded anew"
          onClick={() => change({ ...state, sort: { field: column.key, order: next } })}
        >
          {column.label}
          {mine && (mine === 'asc' ? <ArrowUp size={12} aria-hidden /> : <ArrowDown size={12} aria-hidden />)}
        </button>
      ) : (
        column.label
      )}
    </div>
  )
}
