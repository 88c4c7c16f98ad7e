import './grid.css'
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Rows } from '../api/pages'
import type { Sort } from '../api/queries'
import { capital, nouns } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { notify } from '../ui/toast'
import { useNarrow } from '../ui/use-narrow'
import { useNewIDs } from '../views/new-here'
import { Chooser } from './chooser'
import type { Chosen } from './choice'
import { canEdit } from './editing'
import { Head } from './grid-head'
import { cellID, Row, rowID } from './grid-row'
import { isPicked, nothing, pick, type Picked } from './selection'
import { cellText, jsonOf } from './texts'
import { useColumns } from './use-columns'

/** Heights in pixels: of a row of a table, of a card on a narrow page, and of the names of the columns. */
const heights = { row: 36, card: 64, head: 32 }
/** Width of the check boxes and the space beside the columns, in pixels. */
const inset = 84
/** The next page is read when one scrolls on and this many loaded rows are left below. */
const ahead = 5

/** Where each table was scrolled to, in pixels, for whoever comes back to it. */
const offsets = new Map<string, number>()

interface Props {
  /** Identifies the search. */
  name: string
  rows: Rows
  /** The order of the rows. */
  sort: Sort | undefined
  total: number
  loading: boolean
  picked: Picked
  /** How many of the rows are selected. */
  pickedRows: number
  onPick: (next: Picked) => void
  /** Reads the next page; absent at the end. */
  onEnd: (() => void) | undefined
}

/** Grid is the table of rows. It draws only those in sight. */
export function Grid({ name, rows, sort, total, loading, picked, pickedRows, onPick, onEnd }: Props) {
  const { state, change, workspace, view } = useSearch()
  const fresh = useNewIDs(workspace.id, view?.id)
  const { dataset } = state
  const narrow = useNarrow()
  const { chosen, columns, choose } = useColumns()
  const [preview, setPreview] = useState<Chosen>()
  const [said, say] = useState('')
  const scroller = useRef<HTMLDivElement>(null)
  // The row that keys act on, and its cell if not the whole row.
  const [active, setActive] = useState(() => Math.max(0, state.record ? rows.indexOf(state.record) : 0))
  const [column, setColumn] = useState<number>()
  // The cell that is changed.
  const [editing, setEditing] = useState<{ id: string; key: string }>()
  // The drawer goes on to other rows, too.
  const [record, setRecord] = useState(state.record)
  if (record !== state.record) {
    setRecord(state.record)
    const at = state.record ? rows.indexOf(state.record) : -1
    if (at >= 0) setActive(at)
  }
  // Other rows begin at their top.
  const [of, setOf] = useState(name)
  if (of !== name) {
    setOf(name)
    setActive(Math.max(0, state.record ? rows.indexOf(state.record) : 0))
  }
  useEffect(() => {
    void scroller.current?.scrollTo(0, offsets.get(name) ?? 0)
  }, [name])
  // Where a range of selected rows begins.
  const anchor = useRef(0)
  const moving = useRef(false)
  // The compiler of React cannot see into the virtualizer, and need not.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow ? heights.card : heights.row),
    overscan: 8,
    initialOffset: () => offsets.get(name) ?? 0,
    scrollPaddingEnd: narrow ? 0 : heights.head,
    // The row that has the focus stays, however far one scrolls.
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range)
      return shown.includes(active) || active >= rows.length ? shown : [...shown, active].sort((a, b) => a - b)
    },
  })
  useEffect(() => virtual.measure(), [narrow, virtual])
  useEffect(() => {
    if (moving.current) virtual.scrollToIndex(active)
  }, [active, virtual])
  const opened = record !== undefined && rows.id(active) === record
  useEffect(() => {
    if (!opened || moving.current) return
    virtual.scrollToIndex(active)
    // It is not the user who scrolls on.
    offsets.set(name, scroller.current?.scrollTop ?? 0)
  }, [opened, active, virtual, name])
  useEffect(() => {
    if (!moving.current) return
    const element = document.getElementById(column === undefined ? rowID(active) : cellID(active, column))
    // It may be drawn only after the next scrolling.
    if (!element) return
    moving.current = false
    element.focus({ preventScroll: true })
    if (column !== undefined) element.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  })

  const template = columns
    .map(({ key, width: [least, share] }) => {
      if (preview?.key === key) return `${preview.width ?? least}px`
      return share ? `minmax(${least}px, ${share}fr)` : `${least}px`
    })
    .join(' ')
  // Below this width the table scrolls sideways.
  const minWidth = columns.reduce((sum, c) => sum + c.width[0], inset)

  const hrefOf = useCallback((id: string) => format({ ...state, record: id }), [state])
  const open = (index: number) => {
    const record = rows.id(index)
    if (record) change({ ...state, record }, { replace: state.record !== undefined })
  }
  const select = (index: number) => {
    const id = rows.id(index)
    if (id) onPick(pick(picked, [id], !isPicked(picked, id)))
    anchor.current = index
  }
  /** selectTo selects the rows from the anchor to one, which may be less than before. */
  const selectTo = (index: number) => {
    const between = (a: number, b: number) => rows.ids(Math.min(a, b), Math.max(a, b) + 1)
    const less = pick(picked, between(anchor.current, active), false)
    onPick(pick(less, between(anchor.current, index), true))
  }
  const move = (by: number, range: boolean) => {
    moving.current = true
    const next = Math.min(rows.length - 1, Math.max(0, active + by))
    if (range) selectTo(next)
    else anchor.current = next
    setActive(next)
    if (state.record) open(next)
    if (by > 0 && next >= rows.length - 1) onEnd?.()
  }
  const moveAside = (by: number) => {
    moving.current = true
    const next = Math.min(columns.length - 1, (column ?? -1) + by)
    setColumn(next < 0 ? undefined : next)
  }
  const copy = () => {
    const record = rows.at(active)
    const of = column === undefined ? undefined : columns[column]
    if (!record) return
    void navigator.clipboard
      .writeText(of ? cellText(record, of.key) : jsonOf(record))
      .then(() => notify(of ? `${of.label} copied` : 'The row is copied as JSON'))
  }
  const edit = (index: number, at: number | undefined) => {
    const record = rows.at(index)
    const key = at === undefined ? columns.find((c) => record && canEdit(record, c.key))?.key : columns[at]?.key
    if (!record || !key || !canEdit(record, key)) return false
    setActive(index)
    setEditing({ id: record.id, key })
    return true
  }
  const edited = useCallback(
    (key: string, back: boolean) => {
      setEditing(undefined)
      if (!back) return
      moving.current = true
      setColumn(columns.findIndex((c) => c.key === key))
    },
    [columns],
  )
  const press = (e: React.KeyboardEvent) => {
    if (e.target instanceof HTMLElement && e.target.closest('.grid-head')) return
    const command = e.metaKey || e.ctrlKey
    if (e.altKey) return
    if (command) {
      if (e.key === 'c' && getSelection()?.isCollapsed !== false) copy()
      else if (e.key === 'a') onPick(pick(nothing, rows.ids(), true))
      else return
      e.preventDefault()
      return
    }
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
    if (e.key === 'ArrowUp' && active === 0 && !e.shiftKey && !narrow) {
      scroller.current?.querySelector<HTMLElement>('.head [data-key] button, .head [data-key]')?.focus()
    } else if (step) move(step, e.shiftKey)
    else if (e.key === 'ArrowRight') moveAside(1)
    else if (e.key === 'ArrowLeft') moveAside(-1)
    else if (e.key === 'F2') edit(active, column)
    else if (e.key === 'Enter') {
      if (column === undefined || !edit(active, column)) open(active)
    } else if (e.key === ' ') open(active)
    else if (e.key === 'x') select(active)
    else if (e.key === 'Escape' && !state.record && (picked.all || picked.ids.size > 0)) onPick(nothing)
    else return
    e.preventDefault()
  }
  const click = (e: React.MouseEvent) => {
    if (!(e.target instanceof Element) || e.target.closest('a')) return
    const row = e.target.closest<HTMLElement>('[data-index]')
    if (!row) return
    const index = Number(row.dataset.index)
    if (e.shiftKey) selectTo(index)
    else if (e.target.closest('.edit')) edit(index, Number(e.target.closest<HTMLElement>('.cell')?.dataset.column))
    else if (e.target.closest('.pick') || e.metaKey || e.ctrlKey) select(index)
    else open(index)
    setActive(index)
  }
  const focused = (e: React.FocusEvent) => {
    const row = e.target.closest<HTMLElement>('[data-index]')
    if (!row) return
    const cell = e.target.closest<HTMLElement>('[data-column]')
    setActive(Number(row.dataset.index))
    setColumn(cell ? Number(cell.dataset.column) : undefined)
  }
  return (
    <div className="grid-frame">
      <div
        className={narrow ? 'grid narrow' : 'grid'}
        ref={scroller}
        role="grid"
        aria-label={capital(nouns[dataset].many)}
        aria-rowcount={total + 1}
        aria-colcount={columns.length + 1}
        aria-multiselectable
        style={{ '--template': template, '--least': `${minWidth}px` } as React.CSSProperties}
        onScroll={(e) => {
          const box = e.currentTarget
          // Rows that go away, or coming back to the table, scroll too.
          const on = box.scrollTop > (offsets.get(name) ?? 0)
          offsets.set(name, box.scrollTop)
          const below = box.scrollHeight - box.scrollTop - box.clientHeight
          if (on && below < ahead * heights.row) onEnd?.()
        }}
        onKeyDown={press}
      >
        {!narrow && (
          <div role="rowgroup" className="grid-head">
            <Head
              columns={columns}
              sort={sort}
              chosen={chosen}
              choose={choose}
              preview={setPreview}
              say={say}
              picked={pickedRows === 0 ? false : pickedRows === rows.length ? true : 'some'}
              onPick={() => onPick(pickedRows === rows.length ? nothing : pick(nothing, rows.ids(), true))}
              leave={() => document.getElementById(rowID(active))?.focus()}
            />
          </div>
        )}
        <div
          role="rowgroup"
          className="grid-body"
          style={{ height: virtual.getTotalSize() }}
          onClick={click}
          // Shift selects rows, not their text.
          onMouseDown={(e) => e.shiftKey && e.preventDefault()}
          onFocus={focused}
        >
          {virtual.getVirtualItems().map((item) => {
            const record = rows.at(item.index)
            return (
              record && (
                <Row
                  key={record.id}
                  record={record}
                  marks={rows.marks(item.index)}
                  index={item.index}
                  top={item.start}
                  height={item.size}
                  columns={columns}
                  hrefOf={hrefOf}
                  active={item.index === active}
                  open={record.id === state.record}
                  picked={isPicked(picked, record.id)}
                  fresh={fresh.has(record.id)}
                  editing={editing?.id === record.id ? editing.key : undefined}
                  onEdited={edited}
                />
              )
            )
          })}
        </div>
      </div>
      {!narrow && <Chooser chosen={chosen} choose={choose} />}
      {loading && <div className="skeleton line" style={{ width: '70%', margin: 12 }} />}
      <p className="sr" aria-live="polite">
        {formatNumber(rows.length)} rows loaded
      </p>
      <p className="sr" aria-live="polite">
        {said}
      </p>
    </div>
  )
}
