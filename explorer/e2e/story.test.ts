import type { Locator, Page } from '@playwright/test'
import { counted, enter, expect, link, service, test, used } from './service'

const flagship = '/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&sort=cost:desc'

/** pay presses a button that names its price, and returns the price in credits. */
async function pay(button: Locator): Promise<number> {
  await expect(button).toBeEnabled()
  const price = /· ([\d,]+) credits?/.exec((await button.textContent()) ?? '')?.[1] ?? ''
  await button.click()
  return Number(price.replaceAll(',', ''))
}

/** forget takes a firm out of the book of the first workspace. */
async function forget(id: string): Promise<void> {
  const { base_url, workspaces } = service()
  const headers = { Authorization: `Bearer ${workspaces[0]?.api_key}` }
  await fetch(`${base_url}/workspace/accounts/${id}`, { method: 'DELETE', headers })
}

/** settled waits until the counts are those of the address; until then the filters move. */
async function settled(page: Page): Promise<void> {
  await expect(page.getByRole('main')).toHaveAttribute('aria-busy', 'false')
  await counted(page)
}

const headingOf = (page: Page) => page.locator('.drawer').getByRole('heading', { level: 2 }).first()

test('an analyst finds firms with large multifamily projects under construction', async ({ page }) => {
  const before = await used()
  let paid = 0
  const drawer = page.locator('.drawer')
  const items = drawer.getByRole('tabpanel').getByRole('listitem')
  let firm = ''
  let address = ''

  await test.step('sign in, and see the data before any row is read', async () => {
    await page.goto(link())
    await counted(page)
    for (const dataset of ['Projects', 'Firms', 'People', 'Signals'])
      await expect(page.getByRole('link', { name: new RegExp(`^${dataset} [\\d,]+`) })).toBeVisible()
    await expect(page.getByRole('region', { name: 'Stage' }).getByRole('checkbox')).not.toHaveCount(0)
  })

  await test.step('find the projects', async () => {
    await page.getByRole('link', { name: /^Large multifamily projects under construction/ }).click()
    await expect(page).toHaveURL(flagship)
    await settled(page)
    await page.getByRole('region', { name: 'Disposition' }).getByLabel('Active').check()
    await expect(page).toHaveURL(/disposition=active/)
    await settled(page)
    expect(await used()).toBe(before)
  })

  await test.step('read them', async () => {
    const rows = await pay(page.getByRole('button', { name: /^Show \d+ rows/ }))
    paid += rows
    expect(rows).toBeGreaterThanOrEqual(10)
    await expect(page.getByRole('grid')).toHaveAttribute('aria-rowcount', String(rows + 1))
    await expect(page.getByRole('row').nth(1)).toContainText('Under construction')
    expect(await used()).toBe(before + paid)
  })

  await test.step('open one, and see its signals, firms and people', async () => {
    await page.getByRole('row').nth(1).click()
    await expect(page).toHaveURL(/\/projects\/[0-9a-f-]{36}\?/)
    for (const what of ['Signals', 'Firms', 'People']) {
      const tab = drawer.getByRole('tab', { name: new RegExp(`^${what} \\d+`) })
      await tab.click()
      const rows = await pay(drawer.getByRole('tabpanel').getByRole('button', { name: /^Show \d+ / }))
      paid += rows
      await expect(items).toHaveCount(rows)
      await expect(tab).toHaveText(`${what} ${rows}`)
    }
    expect(await used()).toBe(before + paid)
  })

  await test.step('open one of its firms, with its projects, people and signals', async () => {
    await drawer.getByRole('tab', { name: /^Firms/ }).click()
    const first = items.first().getByRole('link')
    firm = (await first.textContent()) ?? ''
    await first.click()
    await expect(page).toHaveURL(/\/accounts\/[0-9a-f-]{36}$/)
    await expect(headingOf(page)).toHaveText(firm)
    for (const what of ['Projects', 'People', 'Signals'])
      await expect(drawer.getByRole('tab', { name: new RegExp(`^${what} [1-9]`) })).toBeVisible()
    // It was among the firms of the project.
    expect(await used()).toBe(before + paid)
  })

  await test.step('set its status and tags', async () => {
    address = page.url()
    const mine = page.getByRole('region', { name: 'Your workspace' })
    await mine.getByRole('button', { name: /^Show status/ }).click()
    await mine.getByLabel('Status').fill('shortlisted')
    await mine.getByLabel('Status').press('Enter')
    await expect(page.getByText('Status saved; the record is in your book now')).toBeVisible()
    await mine.getByLabel('Tags').fill('multifamily')
    await mine.getByLabel('Tags').press('Enter')
    await expect(mine.getByRole('button', { name: 'Remove the tag multifamily' })).toBeVisible()
    await expect(page.getByText('Tags saved')).toBeVisible()
    expect(await used()).toBe(before + paid)
  })

  await test.step('come back by the address', async () => {
    await page.goto('about:blank')
    await page.goto(address)
    paid += await pay(drawer.getByRole('button', { name: 'Show it · 1 credit' }))
    await expect(headingOf(page)).toHaveText(firm)
    const mine = page.getByRole('region', { name: 'Your workspace' })
    paid += await pay(mine.getByRole('button', { name: /^Show status/ }))
    await expect(mine.getByLabel('Status')).toHaveValue('shortlisted')
    await expect(mine.getByRole('button', { name: 'Remove the tag multifamily' })).toBeVisible()
  })

  await test.step('have paid for what was seen, and for nothing else', async () => {
    expect(await used()).toBe(before + paid)
  })

  await forget(new URL(address).pathname.split('/')[2] ?? '')
})

/** reach presses Tab until the target has the focus. */
async function reach(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await expect(target).toBeVisible()
  for (let n = 0; n < 120; n++) {
    if (await target.evaluate((e) => e === document.activeElement)) return
    await page.keyboard.press(key)
  }
  throw new Error(`Tab does not reach ${target}`)
}

test('the same by keys alone', async ({ page }) => {
  await enter(page)
  const drawer = page.locator('.drawer')

  await reach(page, page.getByRole('region', { name: 'Stage' }).getByLabel('Under construction'))
  await page.keyboard.press('Space')
  await expect(page).toHaveURL('/projects?stage=under_construction')
  await settled(page)
  await reach(page, page.getByRole('region', { name: 'Use' }).getByLabel('Multifamily'))
  await page.keyboard.press('Space')
  await expect(page).toHaveURL('/projects?stage=under_construction&primary_use=multifamily')
  await settled(page)
  await reach(page, page.getByRole('button', { name: /^Show \d+ rows/ }))
  await page.keyboard.press('Enter')
  await expect(page.getByRole('row').nth(1)).toBeFocused()
  await page.keyboard.press('j')
  const row = page.getByRole('row').nth(2)
  await expect(row).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(headingOf(page)).toHaveText((await row.getByRole('link').textContent()) ?? '')

  await reach(page, drawer.getByRole('button', { name: /^Show status/ }))
  await page.keyboard.press('Enter')
  await expect(drawer.getByLabel('Status')).toBeVisible()
  await expect(drawer.getByRole('region', { name: 'Your workspace' })).toBeFocused()
  await reach(page, drawer.getByRole('tab', { name: /^Signals/ }))
  await page.keyboard.press('ArrowRight')
  await expect(drawer.getByRole('tab', { name: /^Firms/ })).toBeFocused()
  await reach(page, drawer.getByRole('tabpanel').getByRole('button', { name: /^Show \d+ firm/ }))
  await page.keyboard.press('Enter')
  const first = drawer.getByRole('tabpanel').getByRole('link').first()
  await expect(first).toBeFocused()
  const firm = (await first.textContent()) ?? ''
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/accounts\//)
  await expect(headingOf(page)).toHaveText(firm)
  await expect(drawer).toBeFocused()
  await page.goBack()
  await expect(page).toHaveURL(/\/projects\//)
  await page.keyboard.press('Escape')
  await expect(drawer).toBeHidden()
  await expect(page).toHaveURL('/projects?stage=under_construction&primary_use=multifamily')
})

test('back and forward go through the searches and records, and cost nothing', async ({ page }) => {
  await enter(page, flagship)
  const heading = page.getByRole('heading', { level: 1 })
  const seen: { url: string; title: string | null }[] = []
  const note = async () => {
    await settled(page)
    seen.push({ url: page.url(), title: await heading.textContent() })
  }
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  await note()
  await page.getByRole('row').nth(2).click()
  await expect(page).toHaveURL(/\/projects\/[0-9a-f-]{36}\?/)
  const name = (await headingOf(page).textContent()) ?? ''
  await note()
  await page.getByRole('button', { name: 'Close the record' }).click()
  await expect(page.locator('.drawer')).toBeHidden()
  await note()
  await page.getByRole('link', { name: /^Firms \d/ }).click()
  await expect(page).toHaveURL(/\/accounts/)
  await note()
  await page.getByRole('region', { name: 'Kind of firm' }).getByLabel('Lender').check()
  await expect(page).toHaveURL(/account_type=lender/)
  await expect(heading).not.toHaveText(seen[3]?.title ?? '')
  await note()
  const before = await used()
  const there = async (at: { url: string; title: string | null } | undefined) => {
    await expect(page).toHaveURL(at?.url ?? '')
    await expect(heading).toHaveText(at?.title ?? '')
  }
  for (const at of seen.slice(0, -1).reverse()) {
    await page.goBack()
    await there(at)
    if (at === seen[1]) await expect(headingOf(page)).toHaveText(name)
    if (at.url.includes('/projects')) await expect(page.getByRole('grid')).toBeVisible()
  }
  for (const at of seen.slice(1)) {
    await page.goForward()
    await there(at)
  }
  expect(await used()).toBe(before)
})

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true })

  test('find, filter, read and open', async ({ page }) => {
    const fits = async () => {
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      expect(width).toBeLessThanOrEqual(390)
    }
    await enter(page)
    await fits()
    await page.getByRole('link', { name: /^Large multifamily projects under construction/ }).tap()
    await expect(page).toHaveURL(flagship)
    await settled(page)
    await page.getByRole('button', { name: /^Filters/ }).tap()
    const sheet = page.getByRole('dialog', { name: 'Filters' })
    await sheet.getByRole('region', { name: 'Disposition' }).getByLabel('Active').check()
    await expect(page).toHaveURL(/disposition=active/)
    await settled(page)
    await fits()
    await page.keyboard.press('Escape')
    await expect(sheet).toBeHidden()
    const rows = await pay(page.getByRole('button', { name: /^Show \d+ rows/ }))
    await expect(page.getByRole('grid')).toHaveAttribute('aria-rowcount', String(rows + 1))
    await fits()
    const card = page.getByRole('row').nth(1)
    const name = (await card.getByRole('link').textContent()) ?? ''
    await card.tap()
    await expect(headingOf(page)).toHaveText(name)
    await expect(page.getByRole('tab', { name: /^Signals [1-9]/ })).toBeVisible()
    await fits()
    await page.getByRole('button', { name: 'Close the record' }).tap()
    await expect(page.locator('.drawer')).toBeHidden()
    await expect(card).toBeVisible()
  })
})
