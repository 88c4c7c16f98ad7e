import { Download } from 'lucide-react'
import { link } from '../address'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { formatNumber } from '../format'

/** ExportLink leads to the screen that names the price of exporting a search. */
export function ExportLink({ count }: { count: number | undefined }) {
  const { record: _, ...search } = useSearch().state
  if (!count) return null
  const title = `Export ${formatNumber(count)} rows; names the price first`
  return (
    <a className="icon-button" {...link(`/export${format(search)}`)} aria-label={title} title={title}>
      <Download size={15} aria-hidden />
    </a>
  )
}
