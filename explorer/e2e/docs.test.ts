import { everywhere, findings } from './axe'
import { enter, expect, service, test } from './service'

// One of each kind.
const pages = [
  '',
  '/clients',
  '/operators',
  '/errors',
  '/reference',
  '/reference/book',
  '/search?q=restore',
  '/search?q=zzzz',
  '/no-such-page',
]

everywhere((width) => {
  test('pages', async ({ page }) => {
    test.slow()
    for (const address of pages) {
      await page.goto('/docs' + address)
      expect(await findings(page), address).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth), address).toBeLessThanOrEqual(width)
    }
  })

  test('an operation', async ({ page }) => {
    await page.goto('/docs/reference/service')
    await page.locator('#get_readiness').getByText('Try it').click()
    await page.locator('#get_readiness').getByRole('button', { name: 'Send' }).click()
    await expect(page.locator('#get_readiness')).toContainText('200')
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })
})

test('every page', async ({ page }) => {
  test.setTimeout(300_000)
  const found = new Set<string>()
  for (const [address, links, least] of [
    ['/docs', 'nav.side a', 12],
    ['/docs/reference', 'main a[href^="/docs/reference/"]', 10],
    ['/docs/decisions', 'main a[href^="/docs/decisions/"]', 30],
  ] as const) {
    await page.goto(address)
    const all = await page.locator(links).evaluateAll((a) => a.map((one) => (one as HTMLAnchorElement).pathname))
    for (const one of all) found.add(one)
    expect(new Set(all).size, address).toBeGreaterThanOrEqual(least)
  }
  expect(found).toContain('/docs/reference/types')
  await page.setViewportSize({ width: 390, height: 844 })
  for (const address of found) {
    await page.goto(address)
    expect(await findings(page), address).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth), address).toBeLessThanOrEqual(390)
  }
})

test('a request with a key', async ({ page }) => {
  await page.goto('/docs/reference/data#search_accounts')
  const operation = page.locator('#search_accounts')
  await operation.getByText('Try it').click()
  await operation.getByLabel('Body').fill('{"limit": 1}')
  await operation.getByRole('button', { name: 'Send' }).click()
  await expect(operation).toContainText('401')
  await page.getByLabel('API key or access token').fill(service().workspaces[0]?.api_key ?? '')
  await operation.getByRole('button', { name: 'Send' }).click()
  await expect(operation).toContainText('X-Credits-Charged: 1')
  await expect(operation.locator('[data-answer] pre')).toContainText('"total_is_capped"')
})

test('a request with the session', async ({ page }) => {
  await enter(page)
  for (const [address, id, answer] of [
    ['/docs/reference/workspace', 'get_workspace', '"plan": "pro"'],
    ['/docs/reference/data', 'search_accounts', '"projects_count": '],
  ] as const) {
    await page.goto(address)
    const operation = page.locator(`#${id}`)
    await operation.getByText('Try it').click()
    await expect(operation.getByLabel('workspace_id')).toHaveAttribute(
      'placeholder',
      service().workspaces[0]?.name ?? '',
    )
    await operation.getByRole('button', { name: 'Send' }).click()
    await expect(operation.locator('[data-answer]')).toContainText(answer)
  }
})

test('search', async ({ page }) => {
  await page.goto('/docs')
  await page.getByRole('searchbox').fill('idempotency key')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Idempotency', exact: true }).first().click()
  await expect(page).toHaveURL(/#idempotency$/)
})
