import { Pencil } from 'lucide-react'
import { lazy, memo, Suspense } from 'react'
import { link } from '../address'
import { capital, type AnyRecord } from '../datasets'
import type { Marks } from '../api/pages'
import { nameOf, valueOf, type Column } from '../search/columns'
import { canEdit } from './editing'
import { Marked } from './marked'

const CellEditor = lazy(() => import('./cell-editor'))

export const rowID = (row: number) => `row-${row}`
export const cellID = (row: number, column: number) => `cell-${row}-${column}`

interface Props {
  record: AnyRecord
  marks: Marks | undefined
  index: number
  /** In pixels. */
  top: number
  height: number
  columns: Column[]
  hrefOf: (id: string) => string
  active: boolean
  /** Its record is in the drawer. */
  open: boolean
  picked: boolean
  /** It began to match the View since the user looked. */
  fresh: boolean
  /** The key of the column whose value is changed. */
  editing: string | undefined
  onEdited: (key: string, back: boolean) => void
}

/** cell is the value of a column, with matches of the search marked in its texts. */
function cell(column: Column, record: AnyRecord, marks: Marks | undefined) {
  const fragments = marks?.[column.key]
  const value = valueOf(record, column.key)
  const isText = column.kind === 'name' || column.kind === 'text'
  return fragments && isText && typeof value === 'string' ? (
    <Marked text={value} fragments={fragments} />
  ) : (
    column.cell(record)
  )
}

/** otherMatches lists matches in fields that are not columns, such as the names of firms. */
function otherMatches(columns: Column[], marks: Marks = {}): string[] {
  return Object.entries(marks)
    .filter(([key]) => columns.every((c) => c.key !== key))
    .map(([key, fragments]) => `${capital(key.replaceAll('_', ' '))}: ${fragments.map((f) => f.text).join(', ')}`)
}

/** Row is a row of the grid, whose events the grid handles. */
export const Row = memo(function Row({
  record,
  marks,
  index,
  top,
  height,
  columns,
  hrefOf,
  active,
  open,
  picked,
  fresh,
  editing,
  onEdited,
}: Props) {
  const name = nameOf(record)
  return (
    <div
      role="row"
      id={rowID(index)}
      data-index={index}
      className="grid-row"
      aria-rowindex={index + 2}
      aria-selected={picked}
      aria-current={open || undefined}
      tabIndex={active ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <div role="gridcell" aria-colindex={1} className="pick">
        <input type="checkbox" tabIndex={-1} readOnly checked={picked} aria-label={`Select ${name}`} />
      </div>
      {columns.map((c, i) => (
        <div
          role={i === 0 ? 'rowheader' : 'gridcell'}
          key={c.key}
          id={cellID(index, i)}
          tabIndex={-1}
          aria-colindex={i + 2}
          className={`cell${c.numeric ? ' numeric' : ''}${editing === c.key ? ' editing' : ''}`}
          data-key={c.key}
          data-column={i}
        >
          {i === 0 ? (
            <a tabIndex={-1} {...link(hrefOf(record.id))} title={[name, ...otherMatches(columns, marks)].join('\n')}>
              {fresh && <span className="fresh">New</span>}
              {cell(c, record, marks)}
            </a>
          ) : editing === c.key ? (
            <Suspense>
              <CellEditor record={record} column={c} done={(back) => onEdited(c.key, back)} />
            </Suspense>
          ) : (
            <>
              {cell(c, record, marks)}
              {canEdit(record, c.key) && (
                <button className="edit" tabIndex={-1} aria-label={`Edit ${c.label} of ${name}`} title="Edit (F2)">
                  <Pencil size={12} aria-hidden />
                </button>
              )}
            </>
          )}
        </div>
      ))}
    </div>
  )
})
