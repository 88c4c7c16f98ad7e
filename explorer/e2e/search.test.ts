import { execFileSync } from 'node:child_process'
import { findings } from './axe'
import { counted, enter, expect, link, service, test, used } from './service'

test('a link signs in once and leaves the address', async ({ page, browser }) => {
  const address = link()
  await page.goto(address)
  await counted(page)
  expect(page.url()).not.toContain('sign-in')
  const cookies = await page.context().cookies()
  expect(cookies.map((c) => [c.httpOnly, c.sameSite])).toEqual([[true, 'Lax']])
  const stranger = await browser.newContext()
  const other = await stranger.newPage()
  await other.goto(address)
  await expect(other.getByText('This sign-in link was used already')).toBeVisible()
  await other.goto('/')
  await expect(other.getByRole('heading', { name: 'Sign in to Atlas' })).toBeVisible()
  // A link also works if the page is already open.
  await other.goto(link())
  await counted(other)
  expect(other.url()).not.toContain('sign-in')
  await stranger.close()
})

test('the first search worth trying is of firms by their projects', async ({ page }) => {
  await enter(page)
  const first = page.locator('.examples').getByRole('link').first()
  await expect(first).toHaveText(/^Firms with large multifamily projects under construction[1-9][\d,]* firms$/)
  await first.click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^[1-9][\d,]* firms$/)
  await expect(page).toHaveURL(/^[^?]*\/accounts\?has_project\.stage=under_construction&/)
})

test('counting is free, and rows cost the price that is shown', async ({ page }) => {
  const before = await used()
  const searches: string[] = []
  page.on(
    'request',
    (r) =>
      /\/(data|workspace)\/[a-z]+\/search/.test(r.url()) && !r.url().includes('/fields/') && searches.push(r.url()),
  )
  await enter(page)
  const heading = page.getByRole('heading', { level: 1 })
  const all = await heading.textContent()
  await page.getByRole('combobox', { name: 'Search projects' }).fill('garage')
  await expect(heading).not.toHaveText(all ?? '')
  const found = await heading.textContent()
  await page.getByRole('region', { name: 'Stage' }).getByLabel('Completed').check()
  await expect(page).toHaveURL('/projects?q=garage&stage=completed')
  await expect(heading).not.toHaveText(found ?? '')
  await page.getByRole('img', { name: /^Cost:/ }).click({ position: { x: 80, y: 20 } })
  await expect(page).toHaveURL(/cost=\d+\.\.[\d.]+/)
  await page.getByRole('button', { name: /^Remove Cost/ }).click()
  await expect(page).toHaveURL('/projects?q=garage&stage=completed')
  expect(searches).toEqual([])
  expect(await used()).toBe(before)

  await page.getByRole('combobox', { name: 'Search projects' }).press('Enter')
  const grid = page.getByRole('grid')
  await expect(grid).toBeVisible()
  await expect(page.getByText(/^25 of/)).toBeVisible()
  expect(await used()).toBe(before + 25)

  // Scrolling on reads the next page; leaving and returning reads nothing.
  await grid.hover()
  await page.mouse.wheel(0, 4000)
  await expect(page.getByText(/^50 of/)).toBeVisible()
  expect(await used()).toBe(before + 50)
  await page.getByRole('link', { name: /^Firms \d/ }).click()
  await expect(page).toHaveURL('/accounts?q=garage')
  await page.goBack()
  await expect(page.getByText(/^50 of/)).toBeVisible()
  expect(await grid.evaluate((e) => e.scrollTop)).toBeGreaterThan(0)
  expect(searches).toHaveLength(2)
  expect(await used()).toBe(before + 50)
})

test('the address is the search', async ({ page }) => {
  const address = '/projects?stage=permitted&stage=under_construction&cost=300000..&unknown=sqft&sort=cost:desc'
  await enter(page, address)
  await expect(page.getByRole('main')).toContainText('Stage is Permitted or Under construction')
  await expect(page.getByRole('main')).toContainText('Cost is at least 300,000')
  await expect(page.getByRole('main')).toContainText('Floor area (sq ft) is unknown')
  expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe(address)
  await page.getByRole('button', { name: 'Clear all' }).click()
  await expect(page).toHaveURL('/projects')
  await page.goBack()
  await expect(page).toHaveURL(address)
})

test('the focus moves from one end of a range to the other', async ({ page }) => {
  await enter(page)
  const [from, to] = [page.getByLabel('Cost, from'), page.getByLabel('Cost, up to')]
  await from.fill('1000')
  await page.keyboard.press('Tab')
  await expect(page).toHaveURL('/projects?cost=1000..')
  await expect(to).toBeFocused()
  await page.keyboard.type('500')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL('/projects?cost=500..1000')
  await expect(from).toHaveValue('500')
  await expect(to).toHaveValue('1000')
  await expect(to).toBeFocused()
})

test('a value or unknown', async ({ page }) => {
  await enter(page, '/projects?stage=filed&unknown=stage')
  const heading = page.getByRole('heading', { level: 1 })
  await expect(page.getByRole('main')).toContainText('Stage is Filed or unknown')
  const stage = page.getByRole('region', { name: 'Stage' })
  await expect(stage.getByLabel('Unknown')).toBeChecked()
  const found = await heading.textContent()
  // The other stages are still there, with their counts.
  await stage.getByLabel('Completed').check()
  await expect(page).toHaveURL('/projects?stage=filed&stage=completed&unknown=stage')
  await expect(heading).not.toHaveText(found ?? '')
  await stage.getByLabel('Completed').uncheck()
  await expect(heading).toHaveText(found ?? '')
  await stage.getByLabel('Unknown').click()
  await expect(page).toHaveURL('/projects?stage=filed')
})

test('a record beside the table, by the keyboard alone', async ({ page }) => {
  await enter(page, '/projects?cost=1000000..')
  await page.keyboard.press('/')
  await expect(page.getByRole('combobox', { name: 'Search projects' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('grid')).toBeVisible()
  const before = await used()
  await page.keyboard.press('Tab')
  await page.getByRole('combobox', { name: 'Search projects' }).blur()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  const second = page.getByRole('row').nth(2)
  await expect(second).toBeFocused()
  await page.keyboard.press('Enter')
  const name = await second.getByRole('link').textContent()
  const drawer = page.getByRole('complementary', { name: name ?? '' })
  await expect(drawer.getByRole('heading', { level: 2 })).toHaveText(name ?? '')
  await page.keyboard.press('j')
  await expect(page.getByRole('row').nth(3)).toBeFocused()
  await expect(drawer).toBeHidden()
  await page.keyboard.press('Escape')
  await expect(page).toHaveURL('/projects?cost=1000000..')
  await expect(page.getByRole('row').nth(3)).toBeFocused()
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible()
  // The record is a loaded row.
  expect(await used()).toBe(before)
})

test('related records have a price', async ({ page }) => {
  await enter(page, '/projects?stage=completed&sort=cost:desc')
  await page.getByRole('button', { name: 'Show 25 rows · 25 credits' }).click()
  await page.getByRole('row').nth(1).click()
  const before = await used()
  const tab = page.getByRole('tab', { name: /^Signals/ })
  await expect(tab).toHaveText(/\d/)
  const n = Number((await tab.textContent())?.replace(/\D/g, ''))
  expect(await used()).toBe(before)
  await page.getByRole('button', { name: new RegExp(`^Show ${n} signals?\\b.* · 1 credit$`) }).click()
  await expect(page.getByRole('tabpanel').getByRole('listitem')).toHaveCount(n)
  expect(await used()).toBe(before + 1)
})

test('annotations are saved at once, and can be undone', async ({ page }) => {
  await enter(page, '/accounts?sort=projects_count:desc')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(4).click()
  const region = page.getByRole('region', { name: 'Your workspace' })
  await region.getByRole('button', { name: /^Show status/ }).click()
  const status = region.getByLabel('Status')
  await expect(status).toHaveValue('')
  await status.fill('in talks')
  await status.press('Enter')
  const saved = page.getByRole('status').filter({ hasText: 'Status saved; the record is in your book now' })
  await expect(saved).toBeVisible()
  await region.getByLabel('Tier').selectOption('Tier 1')
  await expect(page.getByText('Tier saved')).toBeVisible()
  await region.getByLabel('Tags').fill('calgary')
  await region.getByLabel('Tags').press('Enter')
  await expect(region.getByRole('button', { name: 'Remove the tag calgary' })).toBeVisible()
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(region.getByRole('button', { name: 'Remove the tag calgary' })).toBeHidden()
  await expect(status).toHaveValue('in talks')
  // Another browser sees it.
  const { base_url, workspaces } = service()
  const id = new URL(page.url()).pathname.split('/')[2]
  const headers = { Authorization: `Bearer ${workspaces[0]?.api_key}` }
  const response = await fetch(`${base_url}/workspace/accounts/${id}`, { headers })
  expect(((await response.json()) as { data: unknown }).data).toMatchObject({
    workspace_status: 'in talks',
    icp_tier: 'tier_1',
    tags: [],
  })
  await fetch(`${base_url}/workspace/accounts/${id}`, { method: 'DELETE', headers })
})

test('the end of a session loses nothing', async ({ page, context }) => {
  await enter(page, '/projects?stage=filed')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  await context.clearCookies()
  await page.getByRole('combobox', { name: 'Search projects' }).fill('house')
  const dialog = page.getByRole('dialog', { name: 'Your session is over' })
  await expect(dialog).toBeVisible()
  const second = await context.newPage()
  await second.goto(link())
  await counted(second)
  await second.close()
  await dialog.getByRole('button').click()
  await expect(dialog).toBeHidden()
  await expect(page.getByRole('combobox', { name: 'Search projects' })).toHaveValue('house')
  await expect(page).toHaveURL('/projects?q=house&stage=filed')
  await counted(page)
})

test('no match offers searches that match', async ({ page }) => {
  await enter(page, '/projects?q=garage&stage=under_construction&cost=90000000..')
  await expect(page.getByRole('heading', { name: 'No projects match' })).toBeVisible()
  await page.getByRole('button', { name: /^Without Cost/ }).click()
  await expect(page).toHaveURL('/projects?q=garage&stage=under_construction')
})

const refusals = [
  { status: 429, code: 'rate_limited', title: 'The credits of this workspace are used up', retryable: false },
  { status: 503, code: 'unavailable', title: 'Atlas cannot answer right now', retryable: true },
  { status: 500, code: 'internal', title: 'Atlas has failed', retryable: true },
]
for (const { status, code, title, retryable } of refusals) {
  test(`failed rows: ${code}`, async ({ page }) => {
    await enter(page, '/projects?stage=filed')
    await page.route('**/data/projects/search*', (route) =>
      route.fulfill({
        status,
        headers: { 'X-Request-Id': 'request-1', 'X-Credits-Next-At': '2030-01-02T10:30:00.000Z' },
        json: { error: { code, message: 'a message' } },
      }),
    )
    await page.getByRole('button', { name: /^Show 25 rows/ }).click()
    const alert = page.getByRole('alert')
    await expect(alert.getByRole('heading', { name: title })).toBeVisible()
    await expect(alert).toContainText('request-1')
    if (status === 429) await expect(alert).toContainText('2030')
    await page.unroute('**/data/projects/search*')
    await expect(alert.getByRole('button', { name: 'Try again' })).toHaveCount(retryable ? 1 : 0)
    if (retryable) {
      await alert.getByRole('button', { name: 'Try again' }).click()
      await expect(page.getByRole('grid')).toBeVisible()
    }
  })
}

test('an invalid value of an address is reported once', async ({ page }) => {
  await enter(page)
  await page.goto('/projects?stage=foundatoin')
  await expect(page.getByRole('heading', { name: 'This search is not valid' })).toHaveCount(1)
  await expect(page.getByRole('alert')).toHaveCount(1)
  await expect(page.getByRole('alert')).toContainText('Stage must be one of: pre filing, filed, under review')
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/wrong-value.png` })
  await page.getByRole('button', { name: 'Clear all' }).click()
  await counted(page)
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('a workspace without the plan has an explanation, and a sign-out', async ({ page }) => {
  const free = service().workspaces.at(-1)?.users[0]
  await page.goto(link(free?.email))
  await expect(page.getByRole('heading', { level: 1, name: 'This workspace has the plan free' })).toBeVisible()
  expect(await findings(page)).toEqual([])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page.getByRole('heading', { name: 'Sign in to Atlas' })).toBeVisible()
})

test('signing out ends the session', async ({ page }) => {
  await enter(page)
  await page.getByRole('button', { name: /^Signed in as/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page.getByRole('heading', { name: 'Sign in to Atlas' })).toBeVisible()
})

test('the search can be copied for the command line', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(page, '/projects?q=garage&stage=permitted&cost=10000..&unknown=sqft&sort=cost:desc')
  await page.getByRole('button', { name: 'Copy the search' }).click()
  await page.getByRole('button', { name: 'Request with curl' }).click()
  const command = await page.evaluate(() => navigator.clipboard.readText())
  const env = { ...process.env, ATLAS_API_KEY: service().workspaces[0]?.api_key }
  const rows = JSON.parse(execFileSync('sh', ['-c', command], { env }).toString()) as { metadata: { total: number } }
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(new RegExp(`^${rows.metadata.total} `))
  await page.getByRole('button', { name: 'Command of atlas' }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^atlas search projects /)
})
