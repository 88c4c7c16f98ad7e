import { counted, enter, expect, test } from './service'
import { call, create, remove } from './workspace'

// Pictures of the README, and nothing else: scripts/screenshots makes them.
const folder = '../docs'

const search = (fields: object, q = '') => ({ view_type: 'dynamic', definition: { version: 1, q, fields } })
const shown: [string, object, string][] = [
  ['Firms to meet in autumn', { view_type: 'static' }, 'account'],
  ['General contractors', search({ account_type: ['general_contractor'] }), 'account'],
  ['Garages with a permit', search({ stage: ['permitted'] }, 'garage'), 'project'],
  [
    'Multifamily, before construction',
    search({ stage: ['filed', 'permitted'], primary_use: ['multifamily'] }),
    'project',
  ],
]

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme, viewport: { width: 1360, height: 850 }, deviceScaleFactor: 1 })
    test('pictures', async ({ page }) => {
      await enter(page)
      await expect(page.getByRole('img', { name: /by month/ })).toBeVisible()
      await page.waitForLoadState('networkidle')
      await page.screenshot({ path: `${folder}/explorer-overview-${colorScheme}.png`, animations: 'disabled' })
      await page.goto('/projects?stage=permitted&stage=under_construction&cost=300000..&sort=cost:desc')
      await counted(page)
      await page.getByRole('button', { name: /^Show 25 rows/ }).click()
      await page.getByRole('row').nth(3).click()
      await expect(page.getByRole('tab', { name: /^Signals \d/ })).toBeVisible()
      await page.screenshot({ path: `${folder}/explorer-record-${colorScheme}.png`, animations: 'disabled' })
      await page.goto('/projects?look=map&at=51.05,-114.07,11')
      await expect(page.locator('.cell-circle').first()).toBeVisible()
      await page.waitForLoadState('networkidle')
      await page.screenshot({ path: `${folder}/explorer-map-${colorScheme}.png`, animations: 'disabled' })
      const views = await Promise.all(shown.map(([name, rest, dataset]) => create(name, rest, dataset)))
      for (const { id } of views.slice(1)) await call('POST', '/workspace/favorite-views/upsert', { view_id: id })
      await page.goto('/views')
      await expect(page.getByRole('row')).toHaveCount(views.length + 1)
      await page.waitForLoadState('networkidle')
      await page.screenshot({ path: `${folder}/explorer-views-${colorScheme}.png`, animations: 'disabled' })
      for (const view of views) await remove(view)
    })
  })
}
