import type { Browser, Page } from '@playwright/test'
import { findings } from './axe'
import { counted, enter, expect, link, service, test, used } from './service'

const workspace = service().workspaces[0]
const [owner, admin] = workspace?.users ?? []

/** call asks the API as a user of the first workspace. */
async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const separator = path.includes('?') ? '&' : '?'
  const response = await fetch(`${service().base_url}${path}${separator}workspace_id=${workspace?.id}`, {
    method,
    headers: { Authorization: `Bearer ${owner?.token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return ((await response.json()) as { data: T }).data
}

interface View {
  id: string
  name: string
}

/** unique makes names that no other test has. */
const unique = (name: string) => `${name} ${Date.now().toString(36)}`

const create = async (name: string, rest: object = { view_type: 'static' }, dataset = 'account') =>
  (await call<{ view: View }>('POST', '/workspace/views/upsert', { dataset, name, ...rest })).view
const remove = (view: View) => call('DELETE', `/workspace/views/${view.id}`)

/** firms are ids of some firms, without reading them on the page. */
const firms = (limit: number) =>
  call<{ id: string; name: string }[]>('POST', '/data/accounts/search', { limit, fields: ['name'] })

/** another signs another member in, in a browser of their own. */
async function another(browser: Browser, address: string): Promise<Page> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(link(admin?.email))
  await counted(page)
  await page.goto(address)
  return page
}

test('the book is searched by what the workspace says, and its rows have their price', async ({ page }) => {
  const status = unique('in talks')
  const records = await firms(3)
  for (const { id } of records)
    await call('POST', '/workspace/accounts/upsert', { account_id: id, workspace_status: status, tags: ['north'] })
  await enter(page, '/book/accounts')
  await page.getByRole('region', { name: 'Our status' }).getByLabel(status).check()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('3 firms in your book')
  await expect(page).toHaveURL(/\/book\/accounts\?workspace_status=/)
  const before = await used()
  await page.getByRole('button', { name: 'Show 3 rows · 3 credits' }).click()
  await expect(page.getByRole('row').nth(3)).toContainText(status)
  expect(await used()).toBe(before + 3)

  // The row says what the workspace says; nothing more is paid.
  await page.getByRole('row').nth(2).click()
  const region = page.getByRole('region', { name: 'Your workspace' })
  await expect(region.getByLabel('Status')).toHaveValue(status)
  await region.getByLabel('Notes').fill('call on Monday')
  await region.getByLabel('Tags').fill('priority')
  await region.getByLabel('Tags').press('Enter')
  await expect(page.getByRole('row').nth(2)).toContainText('north, priority')
  await region.getByRole('button', { name: 'Remove from the book' }).click()
  await expect(page.getByText('The record is out of your book')).toBeVisible()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('2 firms in your book')
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('3 firms in your book')
  expect(await used()).toBe(before + 3)
  for (const { id } of records) await call('DELETE', `/workspace/accounts/${id}`)
})

test('a search is saved as a View, which says what it cannot keep', async ({ page }) => {
  const name = unique('Permits to look at')
  await enter(page, '/projects?stage=permitted&cost=10000..29999.99&permitted_at=2015-01-01..&unknown=sqft')
  await page.getByRole('button', { name: 'Save as View' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save as View' })
  await expect(dialog).toContainText('Stage is Permitted')
  await expect(dialog).toContainText('Cost is 10,000 to 30,000 – Views take whole numbers')
  await expect(dialog).toContainText('Permit issued is from Jan 1, 2015 on – Views have no filter on this')
  await expect(dialog).toContainText('Floor area (sq ft) is unknown – Views cannot ask whether it is unknown')
  await expect(dialog.getByText(/^The search finds [\d,]+ projects?, the View [\d,]+ projects?\.$/)).toBeVisible()
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Save what can be kept' }).click()
  await expect(page.getByText(`“${name}” is in Views now`)).toBeVisible()

  const before = await used()
  await page.getByRole('link', { name: 'Views' }).click()
  const row = page.getByRole('row').filter({ hasText: name })
  await expect(row).toContainText('Saved search of projects')
  await expect(row.getByRole('cell').nth(3)).toHaveText(/^\d+$/)
  await row.getByRole('link', { name }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^\d+ projects in this View$/)
  await expect(page.getByText('Stage is Permitted · Cost is 10,000 to 30,000')).toBeVisible()

  // A filter within the View becomes one of the View.
  await page.getByRole('region', { name: 'Use' }).getByLabel('Single family').check()
  const found = page.getByRole('heading', { level: 1 })
  await expect(page).toHaveURL(/primary_use=single_family$/)
  await counted(page)
  await page.getByRole('button', { name: 'Save as View' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page).not.toHaveURL(/primary_use/)
  await expect(page.getByText('Stage is Permitted · Use is Single family · Cost is 10,000 to 30,000')).toBeVisible()
  await expect(found).toHaveText(/^\d+ projects in this View$/)

  // Its filters are changed in Search.
  await page.getByRole('button', { name: `More about ${name}` }).click()
  await page.getByRole('link', { name: 'Change its filters' }).click()
  await expect(page).toHaveURL(/\/projects\?stage=permitted&primary_use=single_family&cost=10000\.\.30000&view=/)
  await page.getByRole('button', { name: /^Remove Cost/ }).click()
  await page.getByRole('button', { name: 'Update the View' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page).toHaveURL(/\/views\/[0-9a-f-]+$/)
  await expect(page.getByText('Stage is Permitted · Use is Single family', { exact: false })).not.toContainText('Cost')

  // Deleting says what is lost. Its address then says that it is gone.
  const address = page.url()
  await page.getByRole('button', { name: `More about ${name}` }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await expect(page.getByRole('dialog')).toContainText('Its filters are lost, for everyone')
  await page.getByRole('button', { name: 'Delete the View' }).click()
  await expect(page.getByText(`“${name}” is deleted`)).toBeVisible()
  await expect(page.getByRole('row').filter({ hasText: name })).toHaveCount(0)
  await page.goto(address)
  await expect(page.getByRole('heading', { name: 'This View is gone' })).toBeVisible()
  await page.goto('/views/nonsense')
  await expect(page.getByRole('heading', { name: 'This View is gone' })).toBeVisible()
  expect(await used()).toBe(before)
})

test('rows go into a list, each with its result, and out of it again', async ({ page }) => {
  const name = unique('Shortlist')
  await enter(page, '/accounts')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('row')).not.toHaveCount(0)
  const before = await used()
  // One of the firms is gone meanwhile.
  await page.route('**/records/add/batch*', async (route) => {
    const response = await route.fetch()
    const body = (await response.json()) as { data: { results: object[] } }
    if (body.data.results.length > 1) {
      const error = { code: 'record_not_found', message: 'no such firm' }
      body.data.results[3] = { ...body.data.results[3], status: 'record_not_found', error }
    }
    await route.fulfill({ response, json: body })
  })
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).check()
  await page.getByRole('button', { name: 'Add to a list…' }).click()
  await page.getByLabel('A new list').check()
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await page.getByRole('button', { name: 'Add 25 firms' }).click()
  const dialog = page.getByRole('dialog', { name: `Add to “${name}”` })
  await expect(dialog).toContainText('24 firms are in the list now')
  await expect(dialog).toContainText('1 firm: no longer in the dataset')
  await expect(dialog).toContainText('The list has 25 firms')
  await dialog.getByRole('link', { name: 'Open the list' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('25 firms in this View')
  expect(await used()).toBe(before)

  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(1).click()
  const first = (await page.locator('.drawer h2').first().textContent()) ?? ''
  await page.getByRole('button', { name: 'Remove from this list' }).click()
  await page.getByRole('button', { name: 'Remove 1 firm' }).click()
  await expect(page.getByText(`1 firm removed from “${name}”`)).toBeVisible()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('24 firms in this View')
  await expect(page.getByRole('row').nth(1)).not.toContainText(first)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('25 firms in this View')

  // Adding what is there already says so.
  await page.getByRole('button', { name: 'Add to a list' }).click()
  await page.getByRole('dialog').getByLabel(name).check()
  await page.getByRole('button', { name: 'Add 1 firm' }).click()
  await expect(page.getByText(`It was in “${name}” already`)).toBeVisible()
  const id = page.url().split('/views/')[1]?.split('/')[0] ?? ''
  await remove({ id, name })
})

test('many records get a status and keep their tags', async ({ page }) => {
  const status = unique('to call')
  const records = await firms(25)
  const tagged = records[1]?.id ?? ''
  await call('POST', '/workspace/accounts/upsert', { account_id: tagged, tags: ['kept'], notes: 'mine' })
  await enter(page, '/accounts')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('row')).not.toHaveCount(0)
  const before = await used()
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).check()
  await page.getByRole('button', { name: 'Set status, add tags…' }).click()
  await page.getByLabel('Status', { exact: true }).fill(status)
  await page.getByLabel('Tier').selectOption('Tier 2')
  await page.getByLabel('Add tags').fill('north, autumn')
  await page.getByRole('button', { name: 'Set for 25 firms' }).click()
  await expect(page.getByRole('dialog')).toContainText('25 firms are set, and in your book')
  await page.getByRole('button', { name: 'Done' }).click()
  expect(await used()).toBe(before)
  expect(await call('GET', `/workspace/accounts/${tagged}`)).toMatchObject({
    workspace_status: status,
    icp_tier: 'tier_2',
    tags: ['kept', 'north', 'autumn'],
    notes: 'mine',
  })
  await call('POST', '/workspace/accounts/delete/batch', { ids: records.map((r) => r.id) })
})

test('Favorites have an order, by buttons and keys', async ({ page }) => {
  const views = [await create(unique('Fav A')), await create(unique('Fav B')), await create(unique('Fav C'))]
  await enter(page)
  await page.goto('/views?q=Fav')
  const favorites = page.getByRole('complementary', { name: 'Favorites' })
  const mine = favorites.getByRole('link').filter({ hasText: /^Fav / })
  for (const v of views) {
    await page
      .getByRole('table')
      .getByRole('button', { name: `Favorite: ${v.name}` })
      .click()
    await expect(favorites.getByRole('link', { name: v.name })).toBeVisible()
  }
  const [a, b, c] = views.map((v) => v.name) as [string, string, string]
  await expect(mine).toHaveText([a, b, c])
  await favorites.getByRole('listitem').filter({ hasText: c }).hover()
  await favorites.getByRole('button', { name: `Move ${c} up` }).click()
  await expect(mine).toHaveText([a, c, b])
  await favorites.getByRole('link', { name: a }).focus()
  await page.keyboard.press('Alt+ArrowDown')
  await expect(mine).toHaveText([c, a, b])
  await expect(favorites.getByRole('link', { name: a })).toBeFocused()
  await expect(page.getByRole('main')).toHaveAttribute('aria-busy', 'false')
  await page.waitForLoadState('networkidle')
  await page.reload()
  await expect(mine).toHaveText([c, a, b])
  await favorites.getByRole('button', { name: `Favorite: ${a}` }).click()
  await expect(mine).toHaveText([c, b])
  for (const v of views) await remove(v)
})

test('two members change one View: the second is told', async ({ page, browser }) => {
  const view = await create(unique('Ours'))
  await enter(page)
  await page.goto(`/views/${view.id}`)
  const other = await another(browser, `/views/${view.id}`)
  for (const p of [page, other]) {
    await p.getByRole('button', { name: `More about ${view.name}` }).click()
    await p.getByRole('button', { name: 'Rename…' }).click()
  }
  await other.getByRole('textbox', { name: 'Name' }).fill(`${view.name} theirs`)
  await other.getByRole('button', { name: 'Rename' }).click()
  await expect(other.getByText('It is called')).toBeVisible()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(`${view.name} mine`)
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await expect(dialog.getByRole('alert')).toContainText('Somebody has changed this View since you opened it')
  await expect(dialog).toContainText(`It is called ${view.name} theirs now`)
  await dialog.getByRole('button', { name: 'Save mine' }).click()
  await expect(page.getByText(`It is called “${view.name} mine” now`)).toBeVisible()
  // Deleted meanwhile: what is counted next says so.
  await remove(view)
  await other.getByRole('combobox', { name: 'Search firms' }).fill('homes')
  await expect(other.getByRole('main').getByRole('heading', { name: 'This View is gone' })).toBeVisible()
  await other.context().close()
})

test('two members edit one record: neither loses what the other has saved', async ({ page, browser }) => {
  const [record] = await firms(1)
  const id = record?.id ?? ''
  await call('POST', '/workspace/accounts/upsert', { account_id: id, workspace_status: 'open', tags: ['one'] })
  await enter(page, `/accounts/${id}`)
  const other = await another(browser, `/accounts/${id}`)
  for (const p of [page, other]) {
    await p.getByRole('button', { name: 'Show it · 1 credit' }).click()
    await p.getByRole('button', { name: /^Show status/ }).click()
    await expect(p.getByLabel('Status')).toHaveValue('open')
  }
  const region = page.getByRole('region', { name: 'Your workspace' })
  const theirs = other.getByRole('region', { name: 'Your workspace' })
  await theirs.getByLabel('Status').fill('won')
  await theirs.getByLabel('Status').press('Enter')
  await expect(other.getByText('Status saved')).toBeVisible()
  // Tags of both are kept.
  await theirs.getByLabel('Tags').fill('two')
  await theirs.getByLabel('Tags').press('Enter')
  await expect(theirs.getByRole('button', { name: 'Remove the tag two' })).toBeVisible()
  await expect(other.getByText('Tags saved')).toBeVisible()
  await region.getByLabel('Tags').fill('three')
  await region.getByLabel('Tags').press('Enter')
  await expect(region.getByRole('button', { name: 'Remove the tag two' })).toBeVisible()
  await expect(region.getByRole('button', { name: 'Remove the tag three' })).toBeVisible()
  // One has seen the other's status by now, and changes it.
  await expect(region.getByLabel('Status')).toHaveValue('won')
  await region.getByLabel('Status').fill('paused')
  await region.getByLabel('Status').press('Enter')
  await expect(page.getByText('Status saved')).toBeVisible()
  // The other has not.
  await theirs.getByLabel('Status').fill('lost')
  await theirs.getByLabel('Status').press('Enter')
  const alert = theirs.getByRole('alert')
  await expect(alert).toContainText('Somebody else has changed this meanwhile')
  await expect(alert).toContainText('theirs “paused”, yours “lost”')
  await alert.getByRole('button', { name: 'Keep theirs' }).click()
  await expect(theirs.getByLabel('Status')).toHaveValue('paused')
  await theirs.getByLabel('Status').fill('lost')
  await theirs.getByLabel('Status').press('Enter')
  await expect(theirs.getByLabel('Status')).toHaveValue('lost')
  await expect(alert).toHaveCount(0)
  await expect(other.getByText('Status saved')).toBeVisible()
  expect(await call('GET', `/workspace/accounts/${id}`)).toMatchObject({
    workspace_status: 'lost',
    tags: ['one', 'two', 'three'],
  })
  await call('DELETE', `/workspace/accounts/${id}`)
  await other.context().close()
})

test('names of Views are text', async ({ page }) => {
  const names = ['<img src=x onerror="document.title=1">', `${'long'.repeat(28)}`, 'شركة البناء \u202E123', '😀👩‍👩‍👧‍👦']
  const views = []
  for (const name of names) views.push(await create(unique(name).slice(0, 120)))
  await enter(page)
  await page.goto('/views')
  for (const v of views) {
    const cell = page.getByRole('row').filter({ hasText: v.name }).getByRole('link')
    await expect(cell).toHaveText(v.name)
    await page
      .getByRole('table')
      .getByRole('button', { name: `Favorite: ${v.name}` })
      .click()
  }
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 800 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  }
  await page.goto(`/views/${views[1]?.id}`)
  await expect(page.getByRole('heading', { name: 'No firms in this View yet' })).toBeVisible()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await expect(page).toHaveTitle(/ · Atlas$/)
  for (const v of views) await remove(v)
})

test('a View keeps its columns and their order', async ({ page }) => {
  const list = await create(unique('Columns'))
  await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
    inputs: (await firms(3)).map((r) => ({ record_id: r.id })),
  })
  await enter(page)
  await page.goto(`/views/${list.id}`)
  await page.getByRole('button', { name: /^Show 3 rows/ }).click()
  await page.getByRole('button', { name: 'Choose columns' }).click()
  await page.getByRole('checkbox', { name: 'Kind of firm' }).uncheck()
  await page.getByRole('checkbox', { name: 'ID', exact: true }).check()
  await page.keyboard.press('Escape')
  await page.getByLabel('Sorted by', { exact: true }).selectOption('Firm')
  await page.getByRole('button', { name: 'Keep columns and order' }).click()
  await expect(page.getByText(`“${list.name}” keeps its columns and order`)).toBeVisible()
  await expect(page.getByRole('button', { name: 'Keep columns and order' })).toHaveCount(0)

  await page.goto(`/views?q=${encodeURIComponent(list.name)}`)
  await page.getByRole('row').getByRole('link', { name: list.name }).click()
  await expect(page).toHaveURL(/sort=name:asc&cols=name,workspace_status,tags,icp_tier,atlas_score,updated_at,id$/)
  await page.getByRole('button', { name: /^Show 3 rows/ }).click()
  await expect(page.getByRole('columnheader', { name: 'ID' })).toBeVisible()
  await expect(page.getByRole('columnheader', { name: 'Kind of firm' })).toHaveCount(0)
  // The next View does not have them.
  await page.goto('/views')
  await remove(list)
})

test('book and Views have other looks; what Data alone has is not offered', async ({ page }) => {
  const view = await create(
    unique('Permitted'),
    { view_type: 'dynamic', definition: { version: 1, q: '', fields: { stage: ['permitted'] } } },
    'project',
  )
  await enter(page)
  await page.goto(`/views/${view.id}`)
  await expect(page.getByRole('link', { name: /^Export/ })).toHaveCount(0)
  await page.getByRole('link', { name: 'Chart' }).click()
  await expect(page).toHaveURL(/\/views\/[0-9a-f-]+\?look=chart$/)
  await expect(page.locator('.figure svg').first()).toBeVisible()
  await page.getByRole('link', { name: 'Map', exact: true }).click()
  await expect(page.locator('.map-columns')).toBeVisible()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^[\d,]+ projects in this View$/)

  // The builder knows what the workspace says.
  await page.getByRole('link', { name: 'Table' }).click()
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.keyboard.type('Our status')
  await expect(page.getByRole('option', { name: /^Our status/ })).toBeVisible()
  await remove(view)
})

test('Views that do not come say why', async ({ page }) => {
  await enter(page)
  await page.route('**/workspace/views?*', (route) =>
    route.fulfill({
      status: 503,
      headers: { 'X-Request-Id': 'request-1', 'Retry-After': '0' },
      json: { error: { code: 'unavailable', message: 'away' } },
    }),
  )
  await page.getByRole('link', { name: 'Views' }).click()
  const alert = page.getByRole('main').getByRole('alert')
  await expect(alert.getByRole('heading', { name: 'Atlas cannot answer right now' })).toBeVisible()
  await page.unroute('**/workspace/views?*')
  await alert.getByRole('button', { name: 'Try again' }).click()
  await expect(alert).toHaveCount(0)
})

const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]
for (const viewport of sizes) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test.describe(`${viewport.width} px, ${colorScheme}`, () => {
      test.use({ viewport, colorScheme })

      test('book and Views pass axe', async ({ page }) => {
        const list = await create(unique('Axe list'))
        const records = await firms(3)
        await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
          inputs: records.map((r) => ({ record_id: r.id })),
        })
        await call('POST', '/workspace/favorite-views/upsert', { view_id: list.id })
        await enter(page, '/book/accounts')
        expect(await findings(page)).toEqual([])
        await page.goto('/views')
        await expect(page.getByRole('table')).toBeVisible()
        await expect(page.getByRole('complementary').getByRole('link', { name: list.name })).toBeVisible()
        expect(await findings(page)).toEqual([])
        await page.getByRole('button', { name: 'New list' }).click()
        expect(await findings(page)).toEqual([])
        await page.keyboard.press('Escape')
        await expect(page.getByRole('button', { name: 'New list' })).toBeFocused()
        await page.goto(`/views/${list.id}`)
        await page.getByRole('button', { name: /^Show 3 rows/ }).click()
        await expect(page.getByRole('grid')).toBeVisible()
        expect(await findings(page)).toEqual([])
        await page.getByRole('row').last().press('Control+a')
        await expect(page.getByRole('region', { name: 'Selected rows' })).toContainText('3 selected')
        expect(await findings(page)).toEqual([])
        await page.getByRole('button', { name: 'Set status, add tags…' }).click()
        await expect(page.getByRole('dialog')).toBeVisible()
        expect(await findings(page)).toEqual([])
        await page.keyboard.press('Escape')
        await page.goto('/projects?stage=filed&unknown=sqft')
        await counted(page)
        await page.getByRole('button', { name: 'Save as View' }).click()
        await expect(page.getByText(/^The search finds/)).toBeVisible()
        expect(await findings(page)).toEqual([])
        await remove(list)
      })
    })
  }
}
