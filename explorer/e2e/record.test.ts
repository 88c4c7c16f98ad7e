import { findings } from './axe'
import { counted, enter, expect, service, test, used } from './service'

const workspace = service().workspaces[0]

/** call asks the API as an owner of the first workspace. */
async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${service().base_url}${path}?workspace_id=${workspace?.id}`, {
    method,
    headers: { Authorization: `Bearer ${workspace?.users[0]?.token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return ((await response.json()) as { data: T }).data
}

test('an edit that fails after the drawer has gone on comes back', async ({ page }) => {
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

test('related records that are loaded are not paid again', async ({ page }) => {
  await enter(page, '/signals')
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const drawer = page.locator('.drawer')
  const before = await used()
  await drawer.getByRole('button', { name: 'Show 1 project · 1 credit' }).click()
  await drawer.getByRole('tabpanel').getByRole('link').click()
  await expect(drawer.locator('.kind')).toHaveText('project')
  await expect(drawer.getByRole('tab', { name: /^Signals/ })).toBeVisible()
  expect(await used()).toBe(before + 1)
  const address = page.url()

  // Another record that names it.
  await page.goto(address)
  await counted(page)
  await drawer.getByRole('button', { name: 'Show it · 1 credit' }).click()
  await drawer.getByRole('button', { name: /^Show \d+ signal/ }).click()
  await drawer.getByRole('tabpanel').getByRole('link').first().click()
  await expect(drawer.locator('.kind')).toHaveText('signal')
  const paid = await used()
  await expect(drawer.getByRole('tabpanel').getByRole('link')).toBeVisible()
  await expect(drawer.getByRole('button', { name: /credit/ })).toHaveCount(0)
  expect(await used()).toBe(paid)
})

test('the drawer walks the rows that are loaded in every look, and the focus comes back', async ({ page }) => {
  await enter(page, '/projects?stage=permitted&sort=cost:desc')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  const before = await used()
  const drawer = page.locator('.drawer')
  const heading = drawer.getByRole('heading', { level: 2 })
  const next = drawer.getByRole('button', { name: 'Next row' })
  const row = (n: number) => page.getByRole('row').nth(n)
  // The row of the table goes along, without the focus.
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

test('the drawer shows in which lists a record is, and takes it out of one', async ({ page }) => {
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

test('the history says what changed, and who changed it', async ({ page }) => {
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
  const history = drawer.locator('details', { hasText: 'History' })
  await history.getByText('History', { exact: true }).click()
  await expect(history.getByRole('alert')).toContainText('Atlas cannot answer right now')
  down = false
  await history.getByRole('button', { name: 'Try again' }).click()
  await expect(history).toContainText('Nothing has changed')

  await call('POST', '/workspace/accounts/upsert', { account_id: id, notes: 'first' })
  await call('POST', '/workspace/accounts/upsert', { account_id: id, tags: ['warm'], notes: 'second' })
  await history.getByText('History', { exact: true }).click()
  await history.getByText('History', { exact: true }).click()
  await expect(history.getByRole('listitem').filter({ hasText: 'changed Notes and Tags' })).toHaveCount(1)
  await expect(history.getByRole('listitem').filter({ hasText: 'changed Notes' })).toHaveCount(2)
  expect(await findings(page)).toEqual([])
  await page.screenshot({ path: 'test-results/history.png' })
  expect(await used()).toBe(before)
  await call('DELETE', `/workspace/accounts/${id}`)
})
