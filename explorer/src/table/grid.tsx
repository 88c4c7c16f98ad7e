import './grid.css'
import { useCallback, useRef, useState } from 'react'
import type { Rows } from '../api/pages'
import type { Sort } from '../api/queries'
import { capital, nouns } from '../datasets'
import { formatNumber } from '../format'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { useNarrow } from '../ui/use-narrow'
import { useNewIDs } from '../views/new-records'
import { Chooser } from './chooser'
import { Head } from './grid-head'
import { Row, rowID } from './grid-row'
import { isPicked, nothing, pick, type Picked } from './selection'
import { useActions } from './use-actions'
import { useActive, useFocus } from './use-active'
import { useColumns } from './use-columns'
import { useInput } from './use-input'
import { useVirtualRows } from './use-virtual-rows'
import { useTemplate } from './use-template'

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

/** Grid is the table of rows. It renders only the visible ones. */
export function Grid({ name, rows, sort, total, loading, picked, pickedRows, onPick, onEnd }: Props) {
  const { state, workspace, view } = useSearch()
  const fresh = useNewIDs(workspace.id, view?.id)
  const { dataset } = state
  const narrow = useNarrow()
  const { chosen, columns, choose } = useColumns()
  const { style, preview } = useTemplate(columns)
  const [announcement, setAnnouncement] = useState('')
  const scroller = useRef<HTMLDivElement>(null)
  const active = useActive(name, rows, state.record)
  const opened = state.record !== undefined && rows.id(active.row) === state.record
  const { virtual, scrolled } = useVirtualRows({ name, count: rows.length, narrow, scroller, active, opened, onEnd })
  useFocus(active)
  const act = useActions({ rows, columns, active, picked, onPick, onEnd })
  const { press, click, focused } = useInput({
    rows,
    active,
    act,
    scroller,
    narrow,
    opened: state.record !== undefined,
    picked,
    onPick,
  })
  const hrefOf = useCallback((id: string) => format({ ...state, record: id }), [state])
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
        style={style}
        onScroll={scrolled}
        onKeyDown={press}
      >
        {!narrow && (
          <div role="rowgroup" className="grid-head">
            <Head
              columns={columns}
              sort={sort}
              chosen={chosen}
              choose={choose}
              preview={preview}
              announce={setAnnouncement}
              picked={pickedRows === 0 ? false : pickedRows === rows.length ? true : 'some'}
              onPick={() => onPick(pickedRows === rows.length ? nothing : pick(nothing, rows.ids(), true))}
              leave={() => document.getElementById(rowID(active.row))?.focus()}
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
                  active={item.index === active.row}
                  open={record.id === state.record}
                  picked={isPicked(picked, record.id)}
                  fresh={fresh.has(record.id)}
                  editing={act.editing?.id === record.id ? act.editing.key : undefined}
                  onEdited={act.edited}
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
        {announcement}
      </p>
    </div>
  )
}
