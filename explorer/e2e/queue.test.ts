import { randomUUID } from 'node:crypto'
import { everywhere, findings } from './axe'
import { enter, expect, service, test, used } from './service'
import { call } from './workspace'

const signals = [1, 2, 3].map((n) => ({ id: randomUUID(), title: `Roof ${n} is filed` }))

/** index adds signals to the dataset, or removes them, as a delta does. */
async function index(method: 'PUT' | 'DELETE'): Promise<void> {
  for (const [n, { id, title }] of signals.entries()) {
    const at = Date.now() + n
    const iso = new Date(at).toISOString()
    const times = { occurred_at: iso, detected_at: iso, created_at: iso, updated_at: iso }
    const body = {
      id,
      title,
      signal_type: 'permit_expired',
      account_ids: [],
      ...times,
      ix: { query: ['roof'], arrived_at: at },
    }
    const response = await fetch(`${service().elasticsearch_url}/atlas-signals/_doc/${id}?refresh=true`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(method === 'PUT' ? { body: JSON.stringify(body) } : {}),
    })
    expect(response.ok).toBe(true)
  }
}

interface Subscription {
  id: string
}

const subscribe = async () =>
  (
    await call<{ subscription: Subscription }>('POST', '/workspace/signal-subscriptions/upsert', {
      signal_type: 'permit_expired',
    })
  ).subscription

const unsubscribe = async () => {
  const { subscriptions } = await call<{ subscriptions: Subscription[] }>('GET', '/workspace/signal-subscriptions')
  for (const { id } of subscriptions) await call('DELETE', `/workspace/signal-subscriptions/${id}`)
}
// Before too: a test that fails may leave a request behind.
test.beforeEach(unsubscribe)
test.afterEach(unsubscribe)

test('the bell counts what arrived, the queue shows and dismisses it', async ({ page }) => {
  await enter(page, '/projects')
  await page.getByRole('link', { name: 'Signal queue', exact: true }).click()
  // Without subscriptions the page links to their settings.
  await page.getByRole('link', { name: 'Choose signals to follow' }).click()
  await page.getByRole('checkbox', { name: 'Permit expired' }).click()
  await expect(page.getByText('Permit expired: saved')).toBeVisible()
  await page.getByRole('banner').getByRole('link', { name: 'Signal queue', exact: true }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('0 signals unread')
  await expect(page.getByText('Nothing is unread')).toBeVisible()

  await index('PUT')
  try {
    const before = await used()
    await page.reload()
    await expect(page.getByRole('link', { name: 'Signal queue, 3 unread' })).toBeVisible()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('3 signals unread')
    expect(await used()).toBe(before)
    await page.getByRole('button', { name: 'Show 3 signals · 3 credits' }).click()
    const items = page.getByRole('list', { name: 'Signals' }).getByRole('listitem')
    await expect(items).toHaveCount(3)
    await expect(items.first()).toContainText('Roof 3 is filed')
    await expect(items.first().getByRole('button')).toBeFocused()
    expect(await used()).toBe(before + 3)

    // By keyboard: the next one has the focus.
    await page.keyboard.press('Enter')
    await expect(items).toHaveCount(2)
    await expect(page.getByRole('button', { name: 'Dismiss: Roof 2 is filed' })).toBeFocused()
    await expect(page.getByRole('link', { name: 'Signal queue, 2 unread' })).toBeVisible()
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect(items).toHaveCount(3)
    await expect(page.getByRole('link', { name: 'Signal queue, 3 unread' })).toBeVisible()

    await page.getByRole('button', { name: 'Dismiss the 3 shown' }).click()
    await expect(page.getByText('Nothing is unread')).toBeVisible()
    await page.getByRole('checkbox', { name: 'Dismissed' }).check()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('3 signals dismissed')
    await page.getByRole('button', { name: 'Show 3 signals · 3 credits' }).click()
    await page.getByRole('button', { name: 'Restore: Roof 2 is filed' }).click()
    await expect(page.getByRole('link', { name: 'Signal queue, 1 unread' })).toBeVisible()
    await page.getByRole('checkbox', { name: 'Dismissed' }).uncheck()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 signal unread')
    await page.getByRole('checkbox', { name: 'Of our book' }).check()
    await expect(page.getByText('No signal of the queue is like that.')).toBeVisible()
    await page.getByRole('checkbox', { name: 'Of our book' }).uncheck()

    // A loaded signal opens for free.
    await page.getByRole('button', { name: 'Show 1 signal · 1 credit' }).click()
    await expect(items).toHaveCount(1)
    const paid = await used()
    await page.getByRole('link', { name: 'Roof 2 is filed' }).click()
    await expect(page.locator('.drawer h2').first()).toHaveText('Roof 2 is filed')
    expect(await used()).toBe(paid)
  } finally {
    await index('DELETE')
  }
})

everywhere((width) => {
  test('the queue is accessible and fits', async ({ page }) => {
    await enter(page, '/projects')
    await subscribe()
    await index('PUT')
    try {
      await page.goto('/queue')
      await page.getByRole('button', { name: 'Show 3 signals · 3 credits' }).click()
      await expect(page.getByRole('list', { name: 'Signals' }).getByRole('listitem')).toHaveCount(3)
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    } finally {
      await index('DELETE')
    }
  })
})
