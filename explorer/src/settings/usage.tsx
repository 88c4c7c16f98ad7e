import { useQuery } from '@tanstack/react-query'
import { usageQuery } from '../api/usage'
import { credits, formatMoment, formatNumber } from '../format'
import type { ScreenProps } from '../shell/screens'
import { Notice } from '../ui/notice'
import { firstReturn, hoursOf, operationLabel, returnOf } from '../usage'
import { HourBars } from './hour-bars'

/** Usage shows how the workspace has used its credits, by operation and hour. */
export function Usage({ workspace }: ScreenProps) {
  const usage = useQuery(usageQuery(workspace.id))
  const data = usage.data
  const hours = hoursOf(data?.by_hour ?? [], new Date(usage.dataUpdatedAt))
  const next = firstReturn(data?.by_hour ?? [])
  const operations = Object.entries(data?.by_tool ?? {}).sort(([, a], [, b]) => b - a)
  const most = Math.max(1, ...operations.map(([, n]) => n))
  return (
    <>
      <header>
        <h1>Usage</h1>
        <p className="lead">
          What everybody in {workspace.name} has used together in the last 24 hours. A row or a record costs one credit;
          each credit returns a day after its use.
        </p>
      </header>
      {usage.error && !data && <Notice error={usage.error} retry={() => void usage.refetch()} />}
      {usage.isPending && <div className="skeleton" style={{ height: 320 }} />}
      {data && (
        <>
          <section aria-label="Credits">
            <dl className="figures">
              <div>
                <dt>Used</dt>
                <dd>{formatNumber(data.used_credits)}</dd>
              </div>
              <div>
                <dt>Left</dt>
                <dd>
                  {formatNumber(data.remaining)} <span className="quiet">of {formatNumber(data.ceiling)}</span>
                </dd>
              </div>
              {next && (
                <div>
                  <dt>Next to return</dt>
                  <dd>
                    {credits(next.credits)} <span className="quiet">by {formatMoment(next.by)}</span>
                  </dd>
                </div>
              )}
            </dl>
          </section>
          {data.used_credits === 0 ? (
            <p className="quiet">Nothing was used in the last 24 hours.</p>
          ) : (
            <>
              <section>
                <h2>By hour</h2>
                <HourBars hours={hours} />
                <details>
                  <summary>As a table</summary>
                  <table className="rows">
                    <thead>
                      <tr>
                        <th scope="col">Hour from</th>
                        <th scope="col" className="numeric">
                          Credits
                        </th>
                        <th scope="col" className="numeric">
                          Back by
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {hours
                        .filter((h) => h.credits > 0)
                        .map((h) => (
                          <tr key={+h.from}>
                            <td>{formatMoment(h.from)}</td>
                            <td className="numeric">{formatNumber(h.credits)}</td>
                            <td className="numeric">{formatMoment(returnOf(h.from))}</td>
                          </tr>
                        ))}
                    </tbody>
                  </table>
                </details>
              </section>
              <section>
                <h2>By what it was used for</h2>
                <ul className="operations">
                  {operations.map(([id, n]) => (
                    <li key={id}>
                      <span title={id}>{operationLabel(id)}</span>
                      <span className="track" aria-hidden="true">
                        <span style={{ width: `${(n / most) * 100}%` }} />
                      </span>
                      <b>{formatNumber(n)}</b>
                    </li>
                  ))}
                </ul>
              </section>
            </>
          )}
        </>
      )}
    </>
  )
}
