import { everywhere, findings } from './axe'
import { counted, enter, expect, test } from './service'

everywhere((width) => {
  test('signed out', async ({ page }) => {
    await page.goto('/')
    await expect(page.getByRole('heading', { name: 'Sign in to Atlas' })).toBeVisible()
    expect(await findings(page)).toEqual([])
  })

  test('search and record', async ({ page }) => {
    await enter(page)
    expect(await findings(page)).toEqual([])
    await page.goto('/projects?stage=permitted&stage=filed&cost=10000..&sort=cost:desc')
    await counted(page)
    await page.getByRole('button', { name: /^Show 25 rows/ }).click()
    await expect(page.getByRole('grid')).toBeVisible()
    expect(await findings(page)).toEqual([])
    if (width < 760) {
      await page.getByRole('button', { name: /^Filters/ }).click()
      expect(await findings(page)).toEqual([])
      await page.keyboard.press('Escape')
    }
    await page
      .getByRole('row')
      .nth(width < 760 ? 1 : 2)
      .click()
    await expect(page.getByRole('tablist')).toBeVisible()
    expect(await findings(page)).toEqual([])
    const drawer = page.locator('.drawer')
    await drawer.getByText('Timeline', { exact: true }).click()
    await drawer.locator('details').getByRole('button').click()
    await expect(drawer.locator('details').getByRole('link').first()).toBeVisible()
    expect(await findings(page)).toEqual([])
    // One of its firms.
    await drawer.getByRole('tab', { name: /^Firms/ }).click()
    await drawer.getByRole('tabpanel').getByRole('link').first().click()
    await expect(drawer.getByRole('tab', { name: /^People \d/ })).toBeVisible()
    expect(await findings(page)).toEqual([])
    const body = drawer.locator('.drawer-body')
    expect(await body.evaluate((e) => e.scrollWidth - e.clientWidth)).toBe(0)
    await page.screenshot({ path: `test-results/firm-${width}.png` })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  test('each dataset, and no match', async ({ page }) => {
    await enter(page)
    for (const address of ['/accounts', '/contacts', '/signals', '/projects?q=garage&stage=filed&cost=90000000..']) {
      await page.goto(address)
      await counted(page)
      expect(await findings(page)).toEqual([])
    }
  })

  test('a question in words', async ({ page }) => {
    await enter(page, '/projects?q=office+renovation+calgary+over+1m')
    await expect(page.locator('.reading').getByRole('button')).toBeVisible()
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  test('nothing is wider than the page', async ({ page }) => {
    await enter(page, '/projects?stage=permitted&cost=10000..&sort=cost:desc')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })
})
