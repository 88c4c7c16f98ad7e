import { everywhere, findings } from './axe'
import { counted, enter, expect, link, service, test } from './service'
import { call, create, remove, unique } from './workspace'

everywhere((width) => {
  test('a first visit shows a welcome, which is dismissed for good', async ({ browser }) => {
    // A new browser, unlike in the other tests.
    const context = await browser.newContext(test.info().project.use)
    const page = await context.newPage()
    await page.setViewportSize({ width, height: 844 })
    await page.goto(link())
    await counted(page)
    const welcome = page.getByRole('region', { name: 'Three things to know' })
    await expect(welcome.getByRole('listitem')).toHaveCount(3)
    await page.waitForLoadState('networkidle')
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await page.screenshot({ path: `test-results/welcome-${width}.png` })
    await welcome.getByRole('link').click()
    await expect(page.locator('.reading').getByRole('button')).toBeVisible()
    await page.reload()
    await welcome.getByRole('button', { name: 'Got it' }).click()
    await expect(welcome).toBeHidden()
    await page.goto('/')
    await counted(page)
    await expect(page.getByRole('button', { name: /^Show 25 rows/ })).toBeVisible()
    await expect(welcome).toBeHidden()
    await context.close()
  })

  test('empty screens explain how to fill them', async ({ page }) => {
    await enter(page)
    const list = await create(unique('Empty'))
    // As a new workspace has them.
    await page.route('**/workspace/views?*', (route) => route.fulfill({ json: { data: { views: [] } } }))
    await page.route('**/workspace/favorite-views?*', (route) => route.fulfill({ json: { data: { views: [] } } }))
    await page.goto('/views')
    await expect(page.getByRole('heading', { name: 'No Views yet' })).toBeVisible()
    await expect(page.getByText('Press the star beside a View')).toBeVisible()
    await expect(page.getByRole('link', { name: 'Try it: large multifamily projects' })).toBeVisible()
    await page.screenshot({ path: `test-results/empty-views-${width}.png` })
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Make a list' }).click()
    await expect(page.getByRole('dialog')).toBeVisible()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Try it: large multifamily projects' }).click()
    await counted(page)
    await expect(page.getByRole('button', { name: 'Save as View' })).toBeVisible()
    await page.unroute('**/workspace/views?*')

    for (const address of [`/views/${list.id}`, '/book/contacts', '/queue', '/export']) {
      await page.goto(address)
      await expect(
        page.getByText(/No firms in this View yet|No people in your book yet|No type of signal|None yet/),
      ).toBeVisible()
      await page.screenshot({ path: `test-results/empty${address.slice(0, 7).replaceAll('/', '-')}-${width}.png` })
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
    await remove(list)
  })
})

test('an address that was opened without a session opens after signing in', async ({ page, context }) => {
  const list = await create(unique('Deep'))
  const [firm] = await call<{ id: string }[]>('POST', '/data/accounts/search', { limit: 1, fields: ['name'] })
  const record = `/accounts/${firm?.id}`

  // By a sign-in link in the same tab, which leads to the first page.
  await page.goto(record)
  await expect(page.getByRole('heading', { name: 'Sign in to Atlas' })).toBeVisible()
  await page.goto(link())
  await expect(page).toHaveURL(record)
  await expect(page.getByRole('button', { name: 'Show it · 1 credit' })).toBeVisible()
  // Only once: then the first page is the usual one.
  await page.goto('/')
  await counted(page)
  await expect(page).toHaveURL('/')

  // By an API key, or in another tab: the page continues where it is.
  await context.clearCookies()
  await page.goto(`/views/${list.id}`)
  await page.getByLabel('paste an API key').fill(service().workspaces[0]?.api_key ?? '')
  await page.getByLabel('paste an API key').press('Enter')
  await expect(page).toHaveURL(`/views/${list.id}`)
  await expect(page.locator('.view-name')).toHaveText(list.name)

  await context.clearCookies()
  await page.goto(`/projects?stage=permitted`)
  await expect(page.getByRole('heading', { name: 'Sign in to Atlas' })).toBeVisible()
  const other = await context.newPage()
  await other.goto(link())
  await counted(other)
  await other.close()
  await page.bringToFront()
  await page.evaluate(() => dispatchEvent(new Event('visibilitychange')))
  await counted(page)
  await expect(page).toHaveURL('/projects?stage=permitted')
  await remove(list)
})

test('the first screen has at most 130 kB of JavaScript', async ({ page }) => {
  await enter(page)
  const html = await (await page.request.get('/')).text()
  const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map((m) => m[1] ?? '')
  const sizes = await page.evaluate(
    (scripts) =>
      scripts.map((s) => {
        const [entry] = performance.getEntriesByName(new URL(s, location.href).href) as PerformanceResourceTiming[]
        return entry?.encodedBodySize ?? 0
      }),
    scripts,
  )
  expect(Math.min(...sizes)).toBeGreaterThan(0)
  expect(sizes.reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(130_000)
  // Not much less either, or something is not counted.
  expect(sizes.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(80_000)
})
