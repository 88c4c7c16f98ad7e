import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { enter, expect, test } from './service'
import { call, create, remove, unique, type View } from './workspace'

const since = '2026-03-04T05:06:07.000Z'
const why = /The alert has rested since .*2026.*, because more than 100,000 records match\. Narrow its conditions\.$/

interface Alert {
  view_id: string
  state: string
  rest: object | null
  rest_seen: boolean
}
interface Hook {
  id: string
  views: { view_id: string; state: string; rest: object | null }[]
}

/** change modifies the service's answers to requests of the page. */
const change = <T>(page: Page, path: string, changed: (data: T) => void) =>
  page.route(`**${path}?*`, async (route) => {
    if (route.request().method() !== 'GET') return route.continue()
    const response = await route.fetch()
    const body = (await response.json()) as { data: T }
    changed(body.data)
    await route.fulfill({ response, json: body })
  })

const shot = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` })
}

everywhere((width) => {
  const dark = () => test.info().titlePath.join(' ').includes('dark')
  const look = (page: Page, name: string) => shot(page, `${name}-${width}-${dark() ? 'dark' : 'light'}`)

  // A test cannot have more records than an alert watches: modified answers say that it rests.
  test('a resting alert shows since when, why, and what to do', async ({ page }) => {
    const hostile = unique('<img src=x onerror=alert(1)>')
    const view = await create(hostile, {
      view_type: 'dynamic',
      definition: { version: 1, q: '', fields: { icp_tier: ['tier_1'] } },
    })
    let seen = false
    await change<{ alerts: Alert[] }>(page, '/workspace/alerts', ({ alerts }) => {
      for (const alert of alerts.filter((a) => a.view_id === view.id))
        Object.assign(alert, { state: 'resting', rest: { since, reason: 'too_many_matches' }, rest_seen: seen })
    })
    try {
      await enter(page, '/accounts')
      await page.goto('/views?q=' + encodeURIComponent(hostile))
      const row = page.getByRole('row').filter({ hasText: hostile })
      // A View by tier takes an alert.
      await row.getByRole('button', { name: `Alert: ${hostile}` }).click()
      await expect(row.locator('.rest')).toHaveText(why)
      await expect(page.getByRole('link', { name: /^Signal queue, (.*, )?1 alert rests$/ })).toBeVisible()
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      await look(page, 'rest-views')

      await page.goto('/queue')
      const alerts = page.getByRole('region', { name: 'Alerts on your Views' })
      await expect(alerts.getByText(why)).toBeVisible()
      expect(await findings(page)).toEqual([])
      await look(page, 'rest-queue')
      await alerts.getByRole('link', { name: hostile }).click()
      const notice = page.getByRole('status').filter({ hasText: 'The alert has rested since' })
      await expect(notice).toBeVisible()
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      await look(page, 'rest-view')

      // The service records that the user has seen it; the alert still rests.
      seen = true
      const [response] = await Promise.all([
        page.waitForResponse(`**/workspace/views/${view.id}/seen?*`),
        notice.getByRole('button', { name: 'Seen' }).click(),
      ])
      expect(response.status()).toBe(200)
      await expect(notice.getByRole('button', { name: 'Seen' })).toBeHidden()
      await expect(notice).toBeVisible()
      await expect(page.getByRole('link', { name: /alert rests/ })).toBeHidden()
    } finally {
      await remove(view)
    }
  })

  test('a webhook shows the states of its Views', async ({ page }) => {
    const people = { view_type: 'dynamic', definition: { version: 1, q: '', fields: { role: ['owner'] } } }
    const names = ['Resting', 'Watched', 'Deleted'].map((n) => unique(`${n} ${width} ${dark()}`))
    const views: View[] = []
    for (const name of names) views.push(await create(name, people, 'contact'))
    const [resting, , gone] = views
    const url = `https://hooks.invalid/rests-${width}-${Date.now()}`
    const webhookBody = { url, events: ['view.matched'], view_ids: views.map((v) => v.id) }
    const { webhook } = await call<{ webhook: Hook }>('POST', '/workspace/webhooks/upsert', webhookBody)
    try {
      await remove(gone as View)
      await change<{ webhooks: Hook[] }>(page, '/workspace/webhooks', ({ webhooks }) => {
        const named = webhooks.find((h) => h.id === webhook.id)?.views.find((v) => v.view_id === resting?.id)
        Object.assign(named ?? {}, { state: 'resting', rest: { since, reason: 'definition_refused' } })
      })
      await enter(page, '/accounts')
      await page.goto('/settings/webhooks')
      const hook = page.getByRole('listitem', { name: url })
      const viewLabel = (name: string) => hook.locator('label').filter({ hasText: name })
      await expect(viewLabel(names[0] ?? '')).toContainText(
        /not been notified since .*2026.*, because its conditions cannot be compared with what changes\./,
      )
      await expect(viewLabel(names[1] ?? '')).toContainText(
        /What matches now is being read|It is notified of what begins to match/,
      )
      const deleted = viewLabel(`Deleted View ${gone?.id}`)
      await expect(deleted).toContainText('The View is deleted: it gets no events.')
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      await hook.scrollIntoViewIfNeeded()
      await look(page, 'rest-webhook')
      await deleted.getByRole('checkbox').click()
      await expect(page.getByText('The webhook is saved')).toBeVisible()
      await expect(deleted).toBeHidden()
    } finally {
      await call('DELETE', `/workspace/webhooks/${webhook.id}`)
      for (const view of views.slice(0, 2)) await remove(view)
    }
  })
})
