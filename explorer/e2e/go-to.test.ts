import type { Page } from '@playwright/test'
import { enter, expect, test, used } from './service'

const heading = (page: Page) => page.getByRole('heading', { level: 1 })
const circles = (page: Page) => page.locator('.cell-circle')
const goTo = (page: Page) => page.getByRole('combobox', { name: 'Go to a city, an address or a project' })

test('the map goes to a city, to an address and to a project, for free', async ({ page }) => {
  await enter(page, '/projects?look=map')
  const before = await used()
  await expect(circles(page).first()).toBeVisible()
  const box = goTo(page)
  const option = page.locator('.go-to').getByRole('option')
  // With a typo.
  await box.fill('calgray')
  await expect(option.first()).toContainText(/^Calgarycity[\d,]+$/)
  await expect(option.first()).toHaveClass('active')
  await box.press('Enter')
  await expect(page).toHaveURL(/\/projects\?look=map&at=5[01]\.\d+,-11[34]\.\d+,(9|10|11)[\d.]*$/)
  await expect(option).toHaveCount(0)
  // The search has not changed.
  const all = await heading(page).textContent()
  // At once, before anything is offered.
  await box.fill('12 st ne')
  await box.press('Enter')
  await expect(page).not.toHaveURL(/,(9|10|11)[\d.]*$/)
  await box.fill('Below Grade Suite')
  await expect(option.last()).toContainText('project')
  await box.press('ArrowUp')
  await box.press('Enter')
  await expect(page).toHaveURL(/&at=51\.\d+,-114\.\d+,1[1-5][\d.]*$/)
  await expect(heading(page)).toHaveText(all ?? '')
  expect(await used()).toBe(before)
})

test('an unknown place is reported, and Escape closes and clears', async ({ page }) => {
  await enter(page, '/projects?look=map')
  await expect(circles(page).first()).toBeVisible()
  const address = page.url()
  const box = goTo(page)
  const status = page.locator('.go-to').getByRole('status')
  await box.fill('qqqzzz')
  await expect(status).toHaveText('No project is at “qqqzzz”.')
  await box.press('Enter')
  await expect(status).toHaveText('No project is at “qqqzzz”.')
  expect(page.url()).toBe(address)
  await box.press('Escape')
  await expect(status).toHaveText('')
  await expect(box).toHaveValue('qqqzzz')
  await box.press('Escape')
  await expect(box).toHaveValue('')
  await page.route('**/data/projects/suggest*', (route) => route.abort())
  await box.fill('calgary')
  await expect(status).toHaveText(/^Places cannot be looked up now/)
})

test('a late result does not move the map', async ({ page }) => {
  await enter(page, '/projects?look=map')
  await expect(circles(page).first()).toBeVisible()
  const box = goTo(page)
  // By then its position is known.
  await box.fill('calgary')
  await box.press('Enter')
  await expect(page).toHaveURL(/&at=5[01]\./)
  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/data/projects/suggest*', async (route) => {
    await held
    await route.continue()
  })
  const counted = page.waitForResponse((r) => r.request().postData()?.includes('"address"') ?? false)
  await Promise.all([counted, page.waitForRequest('**/data/projects/suggest*'), box.fill('calgar')])
  await box.press('Enter')
  await page.getByRole('navigation', { name: 'Looks' }).getByRole('link', { name: 'Pivot' }).click()
  await expect(page.getByRole('combobox', { name: /^Go to/ })).toHaveCount(0)
  const address = page.url()
  const found = page.waitForResponse('**/data/projects/suggest*')
  answer()
  await (await found).finished()
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
  await expect(page.getByRole('combobox', { name: /^Go to/ })).toHaveCount(0)
  expect(page.url()).toBe(address)
})

test('names of places are escaped', async ({ page }) => {
  await enter(page, '/projects?look=map')
  await expect(circles(page).first()).toBeVisible()
  const names = ['<img src=x onerror="document.title=1">', 'x'.repeat(20_000), 'شركة البناء \u202E123']
  await page.route('**/data/projects/suggest*', (route) =>
    route.fulfill({
      json: {
        data: { suggestions: names.map((value, i) => ({ field: 'name', value, id: `0000-${i}`, count: 1 })) },
        metadata: { credits: 0 },
      },
    }),
  )
  await goTo(page).fill('garage')
  const name = page.locator('.go-to').getByRole('option').locator('.name')
  for (const text of names) await expect(name.filter({ hasText: text })).toBeVisible()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440)
  await expect(page).toHaveTitle(/ · Atlas$/)
})
