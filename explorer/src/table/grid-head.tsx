import { ArrowDown, ArrowUp } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import type { Sort } from '../api/queries'
import { useSearch } from '../search/context'
import { canSortLocally } from '../search/use-rows'
import type { Column } from '../search/columns'
import { clampWidth, moved, type Chosen } from './choice'
import { sortedBy } from './sort'

/** By how much a key changes a width, in pixels. */
const step = 16

interface Props {
  columns: Column[]
  /** The order of the visible rows. */
  sort: Sort | undefined
  chosen: Chosen[]
  choose: (next: Chosen[]) => void
  /** Shows a width while it is dragged. */
  preview: (width: Chosen | undefined) => void
  /** Announces the effect of a key. */
  announce: (text: string) => void
  /** Whether all loaded rows are selected, or some. */
  picked: boolean | 'some'
  onPick: () => void
  leave: () => void
}

/** Head is the header of the columns, in which the user sorts, moves and resizes. */
export function Head({ columns, sort, chosen, choose, preview, announce, picked, onPick, leave }: Props) {
  const row = useRef<HTMLDivElement>(null)
  // The column that a key has moved: its cell is another one afterwards.
  const follow = useRef<string>(undefined)
  const [drag, setDrag] = useState<{ key: string; over: number }>()
  const cellOf = (key: string) => row.current?.querySelector<HTMLElement>(`[data-key="${key}"]`)
  const focus = (key: string | undefined) => {
    const cell = key && cellOf(key)
    if (cell) (cell.querySelector('button') ?? cell).focus()
  }
  useEffect(() => {
    focus(follow.current)
    follow.current = undefined
  })
  const widen = (key: string, width: number | undefined) =>
    choose(chosen.map((c) => (c.key !== key ? c : width === undefined ? { key } : { key, width })))
  const press = (e: React.KeyboardEvent) => {
    const key = (e.target as HTMLElement).closest<HTMLElement>('[data-key]')?.dataset.key
    const at = columns.findIndex((c) => c.key === key)
    const column = columns[at]
    if (e.key === 'ArrowDown') leave()
    else if (!column || e.metaKey || e.ctrlKey || e.altKey) return
    else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') {
      const to = at + (e.key === 'ArrowLeft' ? -1 : 1)
      if (!e.shiftKey) focus(columns[to]?.key)
      else if (at > 0 && to > 0 && to < columns.length) {
        follow.current = column.key
        choose(moved(chosen, column.key, to))
        announce(`${column.label} is column ${to + 1} now`)
      }
    } else if (e.key === '+' || e.key === '=' || e.key === '-') {
      const width = clampWidth((cellOf(column.key)?.offsetWidth ?? 0) + (e.key === '-' ? -step : step))
      widen(column.key, width)
      announce(`${column.label} is ${width} pixels wide`)
    } else if (e.key === '0') {
      widen(column.key, undefined)
      announce(`${column.label} has its usual width`)
    } else return
    e.preventDefault()
  }
  return (
    <div role="row" aria-rowindex={1} className="grid-row head" ref={row} onKeyDown={press}>
      <div role="columnheader" aria-colindex={1} className="pick">
        <input
          type="checkbox"
          aria-label="Select all rows that are loaded"
          title="Select all rows that are loaded"
          checked={picked === true}
          ref={(box) => {
            if (box) box.indeterminate = picked === 'some'
          }}
          onChange={onPick}
        />
      </div>
      {columns.map((c, i) => (
        <HeadCell
          key={c.key}
          column={c}
          sort={sort}
          index={i}
          over={drag && drag.over === i && drag.key !== c.key}
          onDragStart={() => setDrag({ key: c.key, over: i })}
          onDragOver={() => {
            if (drag && i > 0 && drag.over !== i) setDrag({ ...drag, over: i })
          }}
          onDrop={() => {
            if (drag) choose(moved(chosen, drag.key, i))
          }}
          onDragEnd={() => setDrag(undefined)}
          preview={(width) => preview({ key: c.key, width })}
          widen={(width) => {
            preview(undefined)
            widen(c.key, width)
          }}
        />
      ))}
    </div>
  )
}

interface CellProps {
  column: Column
  sort: Sort | undefined
  index: number
  over: boolean | undefined
  onDragStart: () => void
  onDragOver: () => void
  onDrop: () => void
  onDragEnd: () => void
  preview: (width: number) => void
  /** Without a width the column has the default width of its field. */
  widen: (width: number | undefined) => void
}

function HeadCell({
  column,
  sort,
  index,
  over,
  preview,
  widen,
  onDragOver,
  onDragStart,
  onDrop,
  onDragEnd,
}: CellProps) {
  const order = sort?.field === column.key ? sort.order : undefined
  return (
    <div
      role="columnheader"
      data-key={column.key}
      aria-colindex={index + 2}
      tabIndex={-1}
      className={`cell${column.numeric ? ' numeric' : ''}${over ? ' over' : ''}`}
      aria-sort={order ? (order === 'asc' ? 'ascending' : 'descending') : column.sorts ? 'none' : undefined}
      draggable={index > 0}
      onDragStart={(e) => {
        e.dataTransfer.setData('text/plain', column.label)
        e.dataTransfer.effectAllowed = 'move'
        onDragStart()
      }}
      onDragOver={(e) => {
        if (index > 0) e.preventDefault()
        onDragOver()
      }}
      onDrop={(e) => {
        e.preventDefault()
        onDrop()
      }}
      onDragEnd={onDragEnd}
    >
      {column.sorts ? <SortButton column={column} order={order} /> : column.label}
      <Grip preview={preview} widen={widen} />
    </div>
  )
}

/** SortButton shows, before it is pressed, whether another order is charged. */
function SortButton({ column, order }: { column: Column; order: Sort['order'] | undefined }) {
  const search = useSearch()
  const client = useQueryClient()
  const [title, setTitle] = useState('')
  const next = sortedBy(search.state, column.key)
  const Arrow = order === 'asc' ? ArrowUp : ArrowDown
  const updateTitle = () => {
    const free = next.sort && canSortLocally(search, client, next.sort)
    setTitle(free ? 'Sorts the rows here, for nothing' : 'Another order is another search: its rows cost a credit each')
  }
  return (
    <button title={title} onPointerEnter={updateTitle} onFocus={updateTitle} onClick={() => search.change(next)}>
      {column.label}
      {order && <Arrow size={12} aria-hidden />}
    </button>
  )
}

/** Grip is the draggable edge of a column; keys do the same on the cell. */
function Grip({ preview, widen }: Pick<CellProps, 'preview' | 'widen'>) {
  const start = useRef<{ x: number; width: number }>(undefined)
  const widthAt = (e: React.PointerEvent) =>
    start.current && clampWidth(start.current.width + e.clientX - start.current.x)
  return (
    <div
      className="grip"
      aria-hidden="true"
      // The cell is not dragged.
      onMouseDown={(e) => e.preventDefault()}
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture(e.pointerId)
        start.current = { x: e.clientX, width: e.currentTarget.parentElement?.offsetWidth ?? 0 }
      }}
      onPointerMove={(e) => {
        const width = widthAt(e)
        if (width !== undefined) preview(width)
      }}
      onPointerUp={(e) => {
        if (start.current && e.clientX !== start.current.x) widen(widthAt(e))
        start.current = undefined
      }}
      onPointerCancel={() => (start.current = undefined)}
      onDoubleClick={() => widen(undefined)}
    />
  )
}
