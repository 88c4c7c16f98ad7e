import { randomUUID } from 'node:crypto'
import { everywhere, findings } from './axe'
import { applyFirms } from './operator'
import { counted, enter, expect, test, used } from './service'
import { call, create, remove, unique, type View } from './workspace'

interface Alert {
  view_id: string
  state: string
  new_count: number
  email: string | null
}

const alertOn = async (view: View) =>
  (await call<{ alerts: Alert[] }>('GET', '/workspace/alerts')).alerts.find((a) => a.view_id === view.id)

everywhere((width) => {
  test('an alert counts new matches, marks them, and is marked as seen', async ({ page }) => {
    const city = `Alert${Date.now().toString(36)}`
    const hostile = unique('<img src=x onerror=alert(1)>')
    const definition = { version: 1, q: '', fields: { city: [city] } }
    const view = await create(hostile, { view_type: 'dynamic', definition })
    const firm = (id: string, name: string) => ({ id, name, city, updated_at: new Date().toISOString() })
    const known = firm(randomUUID(), 'Known before')
    const fresh = firm(randomUUID(), 'Begins to match')
    try {
      applyFirms([known])
      const before = await used()
      await enter(page, '/accounts')
      await page.goto('/views?q=' + encodeURIComponent(hostile))
      const row = page.getByRole('row').filter({ hasText: hostile })
      await row.getByRole('button', { name: `Alert: ${hostile}` }).click()
      await expect(row.getByRole('button', { name: `Alert: ${hostile}` })).toHaveAttribute('aria-pressed', 'true')
      await expect.poll(async () => (await alertOn(view))?.state).toBe('watching')
      expect(await findings(page)).toEqual([])

      applyFirms([fresh, { ...known, name: 'Known still', updated_at: new Date().toISOString() }])
      await expect.poll(async () => (await alertOn(view))?.new_count).toBe(1)
      await page.reload()
      await expect(row).toContainText('1 new')
      await expect(page.getByRole('link', { name: /^Signal queue, .*\d new in Views$/ })).toBeVisible()
      expect(await findings(page)).toEqual([])

      await page.goto('/queue')
      const alerts = page.getByRole('region', { name: 'Alerts on your Views' })
      await expect(alerts).toContainText('1 firm')
      expect(await findings(page)).toEqual([])
      await alerts.getByRole('link', { name: hostile }).click()
      await counted(page)
      await expect(page.getByText('1 firm began to match since you looked, and is marked below.')).toBeVisible()
      expect(await used()).toBe(before)
      await page.getByRole('button', { name: /^Show 2 rows · 2 credits$/ }).click()
      await expect(page.getByText('Begins to match')).toBeVisible()
      await expect(page.locator('.grid-row', { hasText: 'Begins to match' })).toContainText('New')
      await expect(page.locator('.grid-row', { hasText: 'Known still' })).not.toContainText('New')
      expect(await findings(page)).toEqual([])

      await page.getByRole('button', { name: 'Seen', exact: true }).click()
      await expect(page.getByText('began to match since you looked')).toBeHidden()
      await expect(page.locator('.grid-row', { hasText: 'Begins to match' })).not.toContainText('New')
      expect((await alertOn(view))?.new_count).toBe(0)
      const mails = page.getByLabel(`E-mails of the alert: ${hostile}`)
      await expect(mails).toHaveValue('')
      await mails.selectOption('E-mail every morning')
      await expect.poll(async () => (await alertOn(view))?.email).toBe('daily')
      await mails.selectOption('No e-mails')
      await expect.poll(async () => (await alertOn(view))?.email).toBeNull()
      expect(await findings(page)).toEqual([])
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/alert-${width}.png` })
      if (width < 1000) return
      await page.getByRole('button', { name: `Alert: ${hostile}` }).click()
      await expect.poll(() => alertOn(view)).toBeUndefined()
    } finally {
      await remove(view)
      const gone = [known.id, fresh.id].map((id) => ({ id, deleted: true, updated_at: new Date().toISOString() }))
      applyFirms(gone)
    }
  })
})
