import { counted, enter, expect, test } from './service'

// Pictures of the README, and nothing else: scripts/screenshots makes them.
const folder = '../docs'

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme, viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1 })
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
    })
  })
}
