import { useState } from 'react'
import type { Column } from '../search/columns'
import type { Chosen } from './choice'

/** Width of the check boxes and the space beside the columns, in pixels. */
const inset = 84

/** useTemplate has the widths of the columns as CSS; preview shows a width while it is dragged. */
export function useTemplate(columns: Column[]) {
  const [dragged, preview] = useState<Chosen>()
  const template = columns
    .map(({ key, width: [least, share] }) => {
      if (dragged?.key === key) return `${dragged.width ?? least}px`
      return share ? `minmax(${least}px, ${share}fr)` : `${least}px`
    })
    .join(' ')
  // Below this width the table scrolls sideways.
  const least = columns.reduce((sum, c) => sum + c.width[0], inset)
  return { style: { '--template': template, '--least': `${least}px` } as React.CSSProperties, preview }
}
