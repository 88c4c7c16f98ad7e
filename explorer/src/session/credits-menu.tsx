import './credits-menu.css'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { handleLinkClick, link } from '../address'
import type { Schemas } from '../api/client'
import { usageQuery } from '../api/usage'
import { workspaceQuery } from '../api/queries'
import { credits, formatMoment, formatNumber } from '../format'
import { firstReturn } from '../usage'
import { ledgerQuery } from './ledger'

interface Props {
  id: string
  window: Schemas['GetCreditsData']
}

/** CreditsMenu has the cost of each action of this page, newest first. */
export function CreditsMenu({ id, window }: Props) {
  const ledger = useQuery(ledgerQuery).data
  const workspace = useQuery(workspaceQuery).data?.id
  const [open, setOpen] = useState(false)
  const usage = useQuery({ ...usageQuery(workspace ?? ''), enabled: open && workspace !== undefined })
  const next = firstReturn(usage.data?.by_hour ?? [])
  return (
    <div id={id} popover="auto" className="menu credits-menu" onToggle={(e) => setOpen(e.newState === 'open')}>
      <p>
        <b>
          {formatNumber(window.remaining)} of {credits(window.ceiling)} left
        </b>
        <span>
          {formatNumber(window.used)} used in the last {window.window_hours} hours.{' '}
          {next ? `${credits(next.credits)} return by ${formatMoment(next.by)}.` : 'Each returns a day after its use.'}
        </span>
      </p>
      <h2>On this page</h2>
      {ledger.length === 0 ? (
        <p className="quiet">Nothing was paid yet: counting is free.</p>
      ) : (
        <ul>
          {ledger.map((e) => (
            <li key={e.at}>
              <span>{e.what}</span>
              <span className="quiet">{formatMoment(new Date(e.at))}</span>
              <b>{formatNumber(e.credits)}</b>
            </li>
          ))}
        </ul>
      )}
      <a
        {...link('/settings/usage')}
        onClick={(e) => {
          document.getElementById(id)?.hidePopover()
          handleLinkClick(e)
        }}
      >
        All usage of the workspace
      </a>
    </div>
  )
}
