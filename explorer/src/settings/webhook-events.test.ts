import { expect, test } from 'vitest'
import type { Delivery } from '../api/webhooks'
import { formatMoment } from '../format'
import { outcome, toggled } from './webhook-events'

test('an event is added in the fixed order, and removed', () => {
  expect(toggled(['record.merged'], 'record.changed')).toEqual(['record.changed', 'record.merged'])
  expect(toggled(['record.changed', 'record.merged'], 'record.changed')).toEqual(['record.merged'])
  expect(toggled([], 'load.switched')).toEqual(['load.switched'])
})

test('the state of a delivery in words', () => {
  const at = '2026-03-01T09:00:00.000Z'
  const delivery: Delivery = {
    id: 'x',
    event: 'record.changed',
    status: 'pending',
    attempts: 0,
    next_attempt_at: at,
    response_status: null,
    created_at: at,
  }
  expect(outcome(delivery)).toBe('is sent now')
  expect(outcome({ ...delivery, attempts: 2, response_status: 503 })).toBe(
    `status 503, again ${formatMoment(new Date(at))}`,
  )
  expect(outcome({ ...delivery, attempts: 10, status: 'failed', next_attempt_at: null })).toBe('given up, no response')
  expect(outcome({ ...delivery, attempts: 1, status: 'delivered', response_status: 204 })).toBe('status 204')
})
