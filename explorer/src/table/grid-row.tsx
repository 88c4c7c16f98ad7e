import { memo } from 'react'
import { link } from '../address'
import { capital, type AnyRecord } from '../datasets'
import type { Marks } from '../api/pages'
import { nameOf, valueOf, type Column } from '../search/columns'
import { Marked } from './marked'

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
  /** It began to match the View since one looked. */
  fresh: boolean
}

/** cell is what a record says in a column, with what matches the search marked in its texts. */
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

/** elsewhere says what matches in fields that are no columns, such as the names of firms. */
function elsewhere(columns: Column[], marks: Marks = {}): string[] {
  return Object.entries(marks)
    .filter(([key]) => columns.every((c) => c.key !== key))
    .map(([key, fragments]) => `${capital(key.replaceAll('_', ' '))}: ${fragments.map((f) => f.text).join(', ')}`)
}

/** Row is a row of the grid, which listens for what one does with it. */
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
          className={c.numeric ? 'cell numeric' : 'cell'}
          data-key={c.key}
          data-column={i}
        >
          {i === 0 ? (
            <a tabIndex={-1} {...link(hrefOf(record.id))} title={[name, ...elsewhere(columns, marks)].join('\n')}>
              {fresh && <span className="fresh">New</span>}
              {cell(c, record, marks)}
            </a>
          ) : (
            cell(c, record, marks)
          )}
        </div>
      ))}
    </div>
  )
})
