import { Download } from 'lucide-react'
import { useId, type RefObject } from 'react'
import { cellOf, row } from '../csv'
import { labelOf } from '../datasets'
import type { Measure } from '../api/queries'
import { sentenceOf } from '../search/clauses'
import { useSearch } from '../search/context'
import { notify } from '../ui/toast'
import { measureLabel, type Dimension } from './dimensions'
import { saveFile } from '../ui/save-file'
import { pictureOf, png } from './download'
import { rows, type Point } from './points'

interface Props {
  title: string
  points: Point[]
  dimension: Dimension
  measure: Measure | undefined
  /** The chart, if it is drawn and not a table. */
  drawing: RefObject<SVGSVGElement | null> | undefined
}

/** ChartDownload saves the chart or table. */
export function ChartDownload({ title, points, dimension, measure, drawing }: Props) {
  const search = useSearch()
  const { state } = search
  const conditions = sentenceOf(search)
  const id = useId()
  const name = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  const csv = () =>
    rows(labelOf(dimension.key), measure && measureLabel(state.dataset, measure), points)
      .map((cells) => row(cells.map(cellOf)))
      .join('')
  const forms: { label: string; content: () => Blob | Promise<Blob>; extension: string }[] = [
    { label: 'Numbers, CSV', extension: 'csv', content: () => new Blob([csv()], { type: 'text/csv' }) },
  ]
  if (drawing) {
    const picture = () => {
      if (!drawing.current) throw new Error('nothing is drawn')
      return pictureOf(drawing.current, title, conditions)
    }
    forms.unshift(
      {
        label: 'Picture, SVG',
        extension: 'svg',
        content: () => new Blob([picture().svg], { type: 'image/svg+xml' }),
      },
      { label: 'Picture, PNG', extension: 'png', content: () => png(picture()) },
    )
  }
  return (
    <div className="download">
      <button className="button" popoverTarget={id}>
        <Download size={14} aria-hidden /> Download
      </button>
      <div id={id} popover="auto" className="menu">
        {forms.map(({ label, extension, content }) => (
          <button
            key={extension}
            popoverTarget={id}
            popoverTargetAction="hide"
            onClick={() => {
              void Promise.resolve()
                .then(content)
                .then(
                  (blob) => saveFile(`${name}.${extension}`, blob),
                  (error: Error) => notify(`The picture could not be made: ${error.message}`),
                )
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  )
}
