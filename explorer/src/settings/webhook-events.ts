import type { Delivery, WebhookEvent } from '../api/webhooks'
import { formatMoment } from '../format'

const labels: Record<WebhookEvent, string> = {
  'record.changed': 'Records of the book change',
  'record.deleted': 'Records of the book are deleted',
  'record.merged': 'Records of the book are merged',
  'view.matched': 'Records begin to match Views',
  'signal.arrived': 'Signals arrive that the workspace follows',
  'credits.threshold': '80 or 100 % of the credits are used',
  'load.switched': 'All records are loaded anew',
  'audit.event': 'Access or settings change: the audit log',
}

/** events are the events of webhooks, in words. */
export const events = Object.entries(labels) as [WebhookEvent, string][]

/** toggled adds an event to a choice or removes it, in the fixed order. */
export function toggled(chosen: WebhookEvent[], event: WebhookEvent): WebhookEvent[] {
  return events.map(([e]) => e).filter((e) => (e === event) !== chosen.includes(e))
}

/** outcome describes the state of a delivery. */
export function outcome({ status, attempts, next_attempt_at, response_status }: Delivery): string {
  const answered = response_status === null ? 'no response' : `status ${response_status}`
  switch (status) {
    case 'delivered':
      return answered
    case 'failed':
      return `given up, ${answered}`
    case 'pending':
      if (attempts === 0 || !next_attempt_at) return 'is sent now'
      return `${answered}, again ${formatMoment(new Date(next_attempt_at))}`
  }
}
