import type { Page } from '@playwright/test'
import { findings } from './axe'
import { counted, enter, expect, service, test, used } from './service'

const workspace = service().workspaces[0]

/** call calls the API as an owner of the first workspace. */
async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${service().base_url}${path}?workspace_id=${workspace?.id}`, {
    method,
    headers: { Authorization: `Bearer ${workspace?.users[0]?.token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return ((await response.json()) as { data: T }).data
}

test('a failed edit is shown after the drawer has moved to another record', async ({ page }) => {
  const status = `typed ${Date.now()}`
  await enter(page, '/accounts?projects_count=20..&sort=name:asc')
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const drawer = page.locator('.drawer')
  const name = (await drawer.getByRole('heading', { level: 2 }).textContent()) ?? ''
  const id = new URL(page.url()).pathname.split('/')[2] ?? ''
  await call('POST', '/workspace/accounts/upsert', { account_id: id, notes: 'as before' })
  await drawer.getByRole('button', { name: /^Show status/ }).click()
  await expect(drawer.getByLabel('Notes')).toHaveValue('as before')

  const away = (body: { workspace_status?: string }) => body.workspace_status !== undefined
  await page.route('**/workspace/accounts/upsert*', (route) =>
    away(route.request().postDataJSON() as object)
      ? route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'the service is busy' } } })
      : route.continue(),
  )
  await drawer.getByLabel('Status').fill(status)
  await drawer.getByRole('button', { name: 'Next row' }).click()
  await expect(drawer.getByRole('heading', { level: 2 })).not.toHaveText(name)
  const alert = page.getByRole('alert').filter({ hasText: `Our status of ${name} is not saved.` })
  await expect(alert).toContainText(status)
  await alert.getByRole('button', { name: 'Try again' }).click()
  await expect(alert).toContainText('The service is busy.')
  await alert.getByRole('link', { name: 'Open it' }).click()
  await expect(drawer.getByRole('heading', { level: 2 })).toHaveText(name)
  await expect(page.getByRole('alert')).toHaveCount(1)
  await expect(drawer.getByLabel('Status')).toHaveValue(status)

  await page.unroute('**/workspace/accounts/upsert*')
  await drawer.getByRole('alert').getByRole('button', { name: 'Try again' }).click()
  await expect(page.getByText('Status saved')).toBeVisible()
  await expect(page.getByRole('alert')).toHaveCount(0)
  await expect(drawer.getByLabel('Status')).toHaveValue(status)
  expect(await call('GET', `/workspace/accounts/${id}`)).toMatchObject({ workspace_status: status, notes: 'as before' })
  await call('DELETE', `/workspace/accounts/${id}`)
})

test('loaded related records are not charged twice', async ({ page }) => {
  await enter(page, '/signals')
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const drawer = page.locator('.drawer')
  const before = await used()
  await drawer.getByRole('button', { name: /^Show 1 project.* · 1 credit$/ }).click()
  await drawer.getByRole('tabpanel').getByRole('link').click()
  await expect(drawer.locator('.kind')).toHaveText('project')
  await expect(drawer.getByRole('tab', { name: /^Signals/ })).toBeVisible()
  expect(await used()).toBe(before + 1)
  const address = page.url()

  // Another record that names it.
  await page.goto(address)
  await counted(page)
  await drawer.getByRole('button', { name: 'Show it · 1 credit' }).click()
  // Related records were loaded with it.
  await drawer.getByRole('tabpanel').getByRole('link').first().click()
  await expect(drawer.locator('.kind')).toHaveText('signal')
  const paid = await used()
  expect(paid).toBe(before + 2)
  await expect(drawer.getByRole('tabpanel').getByRole('link')).toBeVisible()
  await expect(drawer.getByRole('button', { name: /credit/ })).toHaveCount(0)
  expect(await used()).toBe(paid)
})

test('the drawer steps through the loaded rows in every look, and the focus returns', async ({ page }) => {
  await enter(page, '/projects?stage=permitted&sort=cost:desc')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const before = await used()
  const drawer = page.locator('.drawer')
  const heading = drawer.getByRole('heading', { level: 2 })
  const next = drawer.getByRole('button', { name: 'Next row' })
  const row = (n: number) => page.getByRole('row').nth(n)
  // The selected row of the table follows, without the focus.
  const names: string[] = []
  for (let n = 1; n <= 25; n++) {
    await expect(drawer).toContainText(`${n} of 25`)
    names.push((await heading.textContent()) ?? '')
    if (n < 25) await next.click()
  }
  await expect(next).toBeFocused()
  await expect(next).toHaveAttribute('aria-disabled', 'true')
  await expect(page.locator('[role=row][aria-current]')).toHaveAttribute('aria-rowindex', '26')
  await expect(page.locator('[role=row][aria-current]')).toBeInViewport()
  await page.keyboard.press('Escape')
  await expect(page.locator('[role=row][aria-rowindex="26"]')).toBeFocused()
  expect(await used()).toBe(before)

  await page.keyboard.press('Home')
  await row(1).press('Enter')
  for (const look of ['Map', 'Chart']) {
    await page.getByRole('link', { name: look, exact: true }).click()
    await expect(heading).toHaveText(names[look === 'Map' ? 0 : 1] ?? '')
    await next.click()
    await expect(heading).toHaveText(names[look === 'Map' ? 1 : 2] ?? '')
  }
  await page.keyboard.press('Escape')
  await expect(page.getByRole('link', { name: 'Chart', exact: true })).toBeFocused()
  expect(await used()).toBe(before)
})

test('the drawer shows the lists of a record, and removes it from one', async ({ page }) => {
  const [record] = await call<{ id: string }[]>('POST', '/data/accounts/search', { limit: 1, fields: ['name'] })
  const lists: { id: string; name: string }[] = []
  for (const name of ['To visit', 'شركة <b>البناء</b>']) {
    const body = { dataset: 'account', view_type: 'static', name: `${name} ${Date.now()}` }
    const { view } = await call<{ view: { id: string; name: string } }>('POST', '/workspace/views/upsert', body)
    await call('POST', `/workspace/views/${view.id}/records/add`, { record_id: record?.id })
    lists.push(view)
  }
  const [first, second] = lists
  await enter(page, `/accounts/${record?.id}`)
  await page.getByRole('button', { name: 'Show it · 1 credit' }).click()
  const section = page.getByRole('region', { name: 'Lists that it is in' })
  await expect(section.getByRole('link')).toHaveText([first?.name ?? '', second?.name ?? ''])
  const paid = await used()
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 })
    expect(await findings(page)).toEqual([])
  }
  await section.getByRole('button', { name: `Remove from ${first?.name}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove 1 firm' }).click()
  await expect(section.getByRole('link')).toHaveText([second?.name ?? ''])
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(section.getByRole('link')).toHaveCount(2)
  await section.getByRole('link').first().click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 firm in this View')
  expect(await used()).toBe(paid)
  for (const { id } of lists) await call('DELETE', `/workspace/views/${id}`)
})

test('the timeline shows what changed, and who changed it', async ({ page }) => {
  await enter(page, '/accounts?projects_count=20..&sort=name:desc')
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const drawer = page.locator('.drawer')
  const id = new URL(page.url()).pathname.split('/')[2] ?? ''
  const before = await used()
  let down = true
  await page.route('**/workspace/accounts/*/history*', (route) =>
    down
      ? route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'the service is busy' } } })
      : route.continue(),
  )
  const history = drawer.locator('details', { hasText: 'Timeline' })
  await history.getByText('Timeline', { exact: true }).click()
  await expect(history.getByRole('alert')).toContainText('Atlas cannot answer right now')
  down = false
  await history.getByRole('button', { name: 'Try again' }).click()
  await expect(history).toContainText('Nothing has changed')

  await call('POST', '/workspace/accounts/upsert', { account_id: id, notes: 'first' })
  await call('POST', '/workspace/accounts/upsert', { account_id: id, tags: ['warm'], notes: 'second' })
  await history.getByText('Timeline', { exact: true }).click()
  await history.getByText('Timeline', { exact: true }).click()
  await expect(history.getByRole('listitem').filter({ hasText: 'changed Notes and Tags' })).toHaveCount(1)
  await expect(history.getByRole('listitem').filter({ hasText: 'changed Notes' })).toHaveCount(2)
  expect(await findings(page)).toEqual([])
  await page.screenshot({ path: 'test-results/timeline.png' })
  expect(await used()).toBe(before)
  await call('DELETE', `/workspace/accounts/${id}`)
})

/** firm opens the firm with the most projects, which has more signals than are included. */
async function firm(page: Page) {
  await enter(page, '/accounts?sort=projects_count:desc')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const drawer = page.locator('.drawer')
  await expect(drawer.getByRole('tab', { name: /^Signals \d+/ })).toBeVisible()
  return drawer
}

test('one credit reads the related records, and a search the rest', async ({ page }) => {
  const drawer = await firm(page)
  const before = await used()
  const panel = drawer.getByRole('tabpanel')
  const countOf = async (name: string) =>
    Number((await drawer.getByRole('tab', { name: new RegExp(`^${name}`) }).textContent())?.replace(/\D/g, ''))
  const [projects, people, signals] = [await countOf('Projects'), await countOf('People'), await countOf('Signals')]
  expect(projects).toBeGreaterThan(25)
  await panel
    .getByRole('button', {
      name: `Show 25 of ${projects} projects, ${people} people, and 25 of ${signals} signals · 1 credit`,
    })
    .click()
  await expect(panel.getByRole('listitem')).toHaveCount(25)
  await expect(panel.getByRole('link').first()).toBeFocused()
  await drawer.getByRole('tab', { name: /^People/ }).click()
  await expect(panel.getByRole('listitem')).toHaveCount(people)
  await expect(panel.getByRole('button')).toHaveCount(0)
  expect(await used()).toBe(before + 1)
  expect(await findings(page)).toEqual([])

  await drawer.getByRole('tab', { name: /^Projects/ }).click()
  await panel.getByRole('button', { name: `Read the first ${projects} by a search · ${projects} credits` }).click()
  await expect(panel.getByRole('listitem')).toHaveCount(projects)
  await expect(panel.getByRole('button')).toHaveCount(0)
  expect(await used()).toBe(before + 1 + projects)

  await drawer.getByRole('tab', { name: /^Signals/ }).click()
  await panel.getByRole('link', { name: `All ${signals} signals as a search` }).click()
  await expect(page).toHaveURL(/\/signals\?account_ids=/)
  await expect(page.getByRole('heading', { level: 1 })).toContainText(`${signals} signals`)
  expect(await used()).toBe(before + 1 + projects)
})

test('the timeline has signals and what we did, at the price of the record', async ({ page }) => {
  await enter(page, '/projects?stage=completed&signals_count=2..10&sort=cost:desc')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const drawer = page.locator('.drawer')
  const tab = drawer.getByRole('tab', { name: /^Signals \d+/ })
  const signals = Number((await tab.textContent())?.replace(/\D/g, ''))
  const id = new URL(page.url()).pathname.split('/')[2] ?? ''
  await call('POST', '/workspace/projects/upsert', { project_id: id, notes: 'called' })
  const before = await used()
  const timeline = drawer.locator('details', { hasText: 'Timeline' })
  await timeline.getByText('Timeline', { exact: true }).click()
  await expect(timeline.getByRole('listitem').filter({ hasText: 'changed Notes' }).first()).toBeVisible()
  await timeline.getByRole('button', { name: `Show ${signals} signals · 1 credit` }).click()
  await expect(timeline.getByRole('link')).toHaveCount(signals)
  await expect(timeline.getByRole('button')).toHaveCount(0)
  // The latest first: our changes of today, then events.
  await expect(timeline.getByRole('listitem').first()).toContainText('changed Notes')
  expect(await used()).toBe(before + 1)
  await page.screenshot({ path: 'test-results/timeline-signals.png' })
  // The tab has them too.
  await expect(drawer.getByRole('tabpanel').getByRole('listitem')).toHaveCount(signals)
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 })
    expect(await findings(page)).toEqual([])
  }
  await timeline.getByRole('link').first().click()
  await expect(page).toHaveURL(/\/signals\/[0-9a-f-]{36}$/)
  expect(await used()).toBe(before + 1)
  await call('DELETE', `/workspace/projects/${id}`)
})

test('similar firms are a search, which is free until its rows are read', async ({ page }) => {
  const drawer = await firm(page)
  const before = await used()
  const similar = drawer.getByRole('link', { name: /^Similar firms · [\d,]+ firms$/ })
  const count = /· (.*)$/.exec((await similar.textContent()) ?? '')?.[1] ?? ''
  await similar.click()
  await expect(page).toHaveURL(/\/accounts\?account_type=.*&city=.*&has_project\.primary_use=/)
  await expect(page.getByRole('heading', { level: 1 })).toContainText(count)
  await expect(page.getByRole('button', { name: /^Show 25 rows · 25 credits/ })).toBeVisible()
  expect(await used()).toBe(before)
})

/** withMembers replaces values of the first record of a search. */
const withMembers = (page: Page, dataset: string, members: object) =>
  page.route(`**/data/${dataset}/search*`, async (route) => {
    const response = await route.fetch()
    const body = (await response.json()) as { data: object[] }
    Object.assign(body.data[0] ?? {}, members)
    await route.fulfill({ response, json: body })
  })

test('a phone number, an address and a link are copied by a key and by a button', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(page, '/contacts')
  await withMembers(page, 'contacts', { phone: '+1 403 555 0100' })
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const drawer = page.locator('.drawer')
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
  await drawer.getByRole('button', { name: 'Copy the phone number' }).click()
  await expect(page.getByText('The phone number is copied')).toBeVisible()
  expect(await clipboard()).toBe('+1 403 555 0100')
  await page.keyboard.press('l')
  await expect(page.getByText('The link is copied')).toBeVisible()
  expect(await clipboard()).toBe(page.url())
  await page.keyboard.press('p')
  await expect(page.getByText('The phone number is copied')).toBeVisible()
  expect(await clipboard()).toBe('+1 403 555 0100')
  // A key that is typed is a letter.
  await drawer.getByRole('button', { name: /^Show status/ }).click()
  await drawer.getByLabel('Status').press('l')
  expect(await clipboard()).toBe('+1 403 555 0100')
  await drawer.getByLabel('Status').press('Escape')
  expect(await findings(page)).toEqual([])

  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))
  })
  await drawer.getByRole('button', { name: 'Copy a link to this record' }).click()
  await expect(page.getByText('The link is not copied: the browser does not let this page')).toBeVisible()
})

for (const [what, address, links] of [
  ['a page of the source', 'https://data.example/permits/1', 1],
  ['no https', 'http://data.example/permits/1', 0],
  ['a program', 'javascript:document.title="owned"//https://', 0],
  ['another host than it seems', 'https://data.example@evil.example/', 0],
] as const) {
  test(`the source of a permit, with ${what} as its address`, async ({ page }) => {
    const hostile = '<img src=x onerror="document.title=\'owned\'">'
    await enter(page, '/projects')
    await withMembers(page, 'projects', { source: hostile, source_id: hostile, source_url: address, address: hostile })
    await page.getByRole('button', { name: /^Show 25 rows/ }).click()
    await page.getByRole('row').nth(1).getByRole('link').click()
    const source = page.locator('.drawer .fields div', { has: page.getByText('Source', { exact: true }) })
    await expect(source).toContainText(`${hostile}, ${hostile}`)
    const link = source.getByRole('link', { name: 'See it there' })
    await expect(link).toHaveCount(links)
    if (links > 0) {
      await expect(link).toHaveAttribute('href', address)
      await expect(link).toHaveAttribute('rel', 'noopener noreferrer')
      await expect(link).toHaveAttribute('target', '_blank')
      await page.screenshot({ path: 'test-results/source.png' })
    } else await expect(source).toContainText(address)
    expect(await findings(page)).toEqual([])
    await expect(page).toHaveTitle(/projects · Atlas$/)
  })
}
