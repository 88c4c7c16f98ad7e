import { readFileSync } from 'node:fs'
import type { Locator, Page } from '@playwright/test'
import { counted, enter, expect, link, test, used } from './service'
import { call, remove, unique } from './workspace'

const flagship = '/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&sort=cost:desc'

/** pay presses a button that names its price, and returns the price in credits. */
async function pay(button: Locator): Promise<number> {
  await expect(button).toBeEnabled()
  const price = /· ([\d,]+) credits?/.exec((await button.textContent()) ?? '')?.[1] ?? ''
  await button.click()
  return Number(price.replaceAll(',', ''))
}

/** settled waits until the counts match the address; until then the filters move. */
async function settled(page: Page): Promise<void> {
  await expect(page.getByRole('main')).toHaveAttribute('aria-busy', 'false')
  await counted(page)
}

const headingOf = (page: Page) => page.locator('.drawer').getByRole('heading', { level: 2 }).first()

test('an analyst finds large multifamily projects, saves them, and returns to them', async ({ page, context }) => {
  test.setTimeout(180_000)
  const before = await used()
  let paid = 0
  const costs = async (credits: number) => {
    paid += credits
    expect(await used()).toBe(before + paid)
  }
  const heading = page.getByRole('heading', { level: 1 })
  const drawer = page.locator('.drawer')
  const mine = page.getByRole('region', { name: 'Your workspace' })
  const look = (name: string) => page.getByRole('navigation', { name: 'Looks' }).getByRole('link', { name })
  const shortlist = unique('Shortlist')
  const saved = unique('Large multifamily')
  let found = ''
  let project = ''
  let id = ''

  await test.step('sign in, and see the data before any row is read', async () => {
    await page.goto(link())
    await counted(page)
    for (const dataset of ['Projects', 'Firms', 'People', 'Signals'])
      await expect(page.getByRole('link', { name: new RegExp(`^${dataset} [\\d,]+`) })).toBeVisible()
    await expect(page.getByRole('region', { name: 'Stage' }).getByRole('checkbox')).not.toHaveCount(0)
  })

  await test.step('find the firms, and the projects that they build', async () => {
    const ideas = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Worth trying' }) })
    await ideas.getByRole('link').first().click()
    await expect(page).toHaveURL(
      /^[^?]*\/accounts\?has_project.stage=under_construction&has_project.primary_use=multifamily/,
    )
    await settled(page)
    await expect(heading).toHaveText(/^\d+ firms/)
    await page.goBack()
    await ideas.getByRole('link', { name: /^Large multifamily projects under construction/ }).click()
    await expect(page).toHaveURL(flagship)
    await settled(page)
    found = (await heading.textContent()) ?? ''
  })

  await test.step('look at the map, and at the cost by month', async () => {
    await look('Map').click()
    await expect(page.locator('.cell-circle').first()).toBeVisible()
    await look('Chart').click()
    await page.getByLabel('Show').selectOption({ label: 'Total cost' })
    const months = page.getByRole('table', { name: 'Total cost of projects by month of permit' })
    await expect(months.getByRole('row')).not.toHaveCount(0)
    await expect(page.getByRole('img', { name: / by / }).and(page.locator('svg'))).toBeVisible()
    await look('Table').click()
    await expect(page).toHaveURL(flagship)
    await expect(heading).toHaveText(found)
    await costs(0)
  })

  await test.step('read the rows', async () => {
    const rows = await pay(page.getByRole('button', { name: /^Show \d+ rows/ }))
    expect(rows).toBeGreaterThanOrEqual(10)
    await expect(page.getByText(new RegExp(`^${rows} of [\\d,]+ loaded$`))).toBeVisible()
    await expect(page.getByRole('row').nth(1)).toContainText('Under construction')
    await costs(rows)
  })

  await test.step('open one, and see its signals, firms and people', async () => {
    await page.getByRole('row').nth(1).click()
    await expect(page).toHaveURL(/\/projects\/[0-9a-f-]{36}\?/)
    project = (await headingOf(page).textContent()) ?? ''
    id = new URL(page.url()).pathname.split('/')[2] ?? ''
    // All of them at once.
    const offer = drawer.getByRole('tabpanel').getByRole('button', { name: /^Show \d+ signal.* · 1 credit$/ })
    await offer.click()
    for (const what of ['Signals', 'People', 'Firms']) {
      const tab = drawer.getByRole('tab', { name: new RegExp(`^${what} \\d+`) })
      await tab.click()
      const rows = Number((await tab.textContent())?.replace(/\D/g, ''))
      await expect(drawer.getByRole('tabpanel').getByRole('listitem')).toHaveCount(rows)
    }
    await costs(1)
  })

  await test.step('open one of its firms, with its projects, people and signals, and go back', async () => {
    const first = drawer.getByRole('tabpanel').getByRole('listitem').first().getByRole('link')
    const firm = (await first.textContent()) ?? ''
    await first.click()
    await expect(page).toHaveURL(/\/accounts\/[0-9a-f-]{36}$/)
    await expect(headingOf(page)).toHaveText(firm)
    for (const what of ['Projects', 'People', 'Signals'])
      await expect(drawer.getByRole('tab', { name: new RegExp(`^${what} [1-9]`) })).toBeVisible()
    await page.goBack()
    await expect(headingOf(page)).toHaveText(project)
    // It was among the firms of the project.
    await costs(0)
  })

  await test.step('put the project on a new shortlist', async () => {
    await drawer.getByRole('button', { name: 'Add to a list' }).click()
    await page.getByLabel('A new list').check()
    await page.getByRole('textbox', { name: 'Name' }).fill(shortlist)
    await page.getByRole('button', { name: 'Add 1 project' }).click()
    await expect(page.getByText(`Added to “${shortlist}”`)).toBeVisible()
    await expect(drawer.getByRole('link', { name: shortlist })).toBeVisible()
  })

  await test.step('set its status, undo that, and repeat it', async () => {
    await mine.getByRole('button', { name: /^Show status/ }).click()
    const status = mine.getByLabel('Status')
    const set = async () => {
      await status.fill('shortlisted')
      await status.press('Enter')
      await expect(page.getByText('Status saved; the record is in your book now')).toBeVisible()
    }
    await set()
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect(mine.getByText('Not in your book yet.')).toBeVisible()
    await expect(status).toHaveValue('')
    await set()
    await expect(mine.getByText('Not in your book yet.')).toBeHidden()
    await costs(0)
  })

  await test.step('save the search as a View, a Favorite', async () => {
    await page.getByRole('button', { name: 'Close the record' }).click()
    await page.getByRole('button', { name: 'Save as View' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(saved)
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
    await expect(page.getByText(`“${saved}” is in Views now`)).toBeVisible()
    await page.getByRole('link', { name: 'Views' }).click()
    await page
      .getByRole('table')
      .getByRole('button', { name: `Favorite: ${saved}` })
      .click()
    await expect(
      page.getByRole('complementary', { name: 'Favorites' }).getByRole('link', { name: saved }),
    ).toBeVisible()
  })

  await test.step('go back and forward', async () => {
    await page.goBack()
    await expect(page).toHaveURL(flagship)
    await expect(page.getByRole('row').nth(1)).toContainText(project)
    await page.goForward()
    await expect(page).toHaveURL(/\/views/)
    await costs(0)
    await page.close()
  })

  const tomorrow = await context.newPage()
  const grid = tomorrow.getByRole('grid')
  const seen = new Map<string, string>()

  await test.step('come back tomorrow, and read the View', async () => {
    await tomorrow.goto('/')
    await counted(tomorrow)
    await tomorrow.getByRole('link', { name: 'Views' }).click()
    await tomorrow.getByRole('complementary', { name: 'Favorites' }).getByRole('link', { name: saved }).click()
    await expect(tomorrow.getByRole('heading', { level: 1 })).toHaveText(`${found} in this View`)
    const count = parseInt(found.replaceAll(',', ''))
    let rows = 0
    while (rows < count) {
      const credits = await pay(tomorrow.getByRole('button', { name: rows ? /^Show \d+ more/ : /^Show \d+ rows/ }))
      rows += credits
      await expect(tomorrow.getByText(new RegExp(`^${rows} of ${count} loaded$`))).toBeVisible()
      await costs(credits)
    }
    // The table draws only the visible ones.
    for (let n = 1; n <= rows; n++) {
      const row = grid.locator(`[role=row][aria-rowindex="${n + 1}"]`)
      if (n === 1) await row.focus()
      else await tomorrow.keyboard.press('j')
      await expect(row).toBeFocused()
      seen.set((await row.getByRole('link').textContent()) ?? '', await row.innerText())
    }
    expect(seen.get(project)).toContain('shortlisted')
  })

  await test.step('export it, and find in the file what was seen', async () => {
    await tomorrow.getByRole('link', { name: /^Export/ }).click()
    await expect(tomorrow.getByText(`Export · ${saved}`)).toBeVisible()
    const downloaded = tomorrow.waitForEvent('download')
    // They are loaded, and not charged twice.
    const credits = await pay(tomorrow.getByRole('button', { name: /^Export \d+ rows/ }))
    expect(credits).toBe(0)
    const [head = '', ...rows] = readFileSync(await (await downloaded).path(), 'utf8')
      .trim()
      .split('\n')
    for (const column of ['Our status', 'Tags', 'Notes', 'ID']) expect(head.trim().split(',')).toContain(column)
    expect(rows).toHaveLength(seen.size)
    expect(rows.find((row) => row.trim().endsWith(id))).toMatch(/,shortlisted,/i)
    for (const name of seen.keys())
      expect(
        rows.some((row) => row.replaceAll('""', '"').includes(name)),
        name,
      ).toBe(true)
    await costs(0)
  })

  await call('DELETE', `/workspace/projects/${id}`)
  const views = (await call<{ views: { id: string; name: string }[] }>('GET', '/workspace/views?limit=100')).views
  for (const view of views) if ([shortlist, saved].includes(view.name)) await remove(view)
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

test('the same by the keyboard alone', async ({ page }) => {
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
  await reach(page, drawer.getByRole('tabpanel').getByRole('button', { name: /^Show .*\d+ firm.* · 1 credit$/ }))
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

test('back and forward go through the searches and records, for free', async ({ page }) => {
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
